package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// minBody is the smallest body that message can make.
const minBody = 256

var (
	remarks  = []string{"账户余额不足", "支付渠道超时，请稍后重试", "订单状态异常", "优惠券已失效", "收货地址不完整", "库存扣减失败", "重复扣款待核实", "银行卡已过期"}
	goods    = []string{"无线耳机", "mechanical keyboard", "儿童绘本", "咖啡豆 250g", "USB-C hub", "运动水壶", "desk lamp", "羊毛围巾"}
	failures = [][2]string{
		{"java.net.SocketTimeoutException", "bank did not answer within 3000 ms"},
		{"com.pay.InsufficientBalanceException", "账户余额不足"},
		{"org.springframework.dao.DeadlockLoserDataAccessException", "deadlock detected while updating t_account"},
		{"java.lang.NullPointerException", `Cannot invoke "Order.getUserId()" because "order" is null`},
	}
)

// message is the n-th dead letter of a queue: a JSON body of exactly size
// bytes, and headers as a retry ladder of three waits leaves them. The same n
// gives the same message but for the times.
func message(n, size int, now time.Time) amqp.Publishing {
	r := rand.New(rand.NewPCG(uint64(n), uint64(size))) //nolint:gosec // the same messages each time
	failure := failures[r.IntN(len(failures))]
	died := now.Add(-time.Duration(r.IntN(7200)) * time.Second)
	headers := amqp.Table{
		"x-death":                deaths(r, died),
		"x-first-death-queue":    "q.pay.success",
		"x-first-death-reason":   "rejected",
		"x-first-death-exchange": "ex.pay",
		"x-retry-count":          int32(5),
		"x-original-queue":       "q.pay.success",
		"x-original-exchange":    "ex.pay",
		"x-original-routingKey":  "pay.success",
		"x-exception-type":       failure[0],
		"x-exception-message":    failure[1],
	}
	return amqp.Publishing{
		Headers: headers, Body: body(r, n, size), ContentType: "application/json",
		DeliveryMode: amqp.Persistent, MessageId: token(r, 32), Timestamp: died.Add(-time.Hour),
	}
}

// deaths are five entries of x-death, the last death first.
func deaths(r *rand.Rand, last time.Time) []any {
	entry := func(queue, reason, exchange, key string, count int64, ago time.Duration) any {
		return amqp.Table{
			"queue": queue, "reason": reason, "exchange": exchange, "count": count,
			"routing-keys": []any{key}, "time": last.Add(-ago).Truncate(time.Second),
		}
	}
	return []any{
		entry("q.pay.success", "rejected", "ex.pay", "pay.success", 1+r.Int64N(5), 0),
		entry("q.pay.dlx.wait.5m", "expired", "ex.pay.dlx", "pay.wait.5m", 1, time.Minute),
		entry("q.pay.dlx.wait.1m", "expired", "ex.pay.dlx", "pay.wait.1m", 1+r.Int64N(2), 6*time.Minute),
		entry("q.pay.dlx.wait.30s", "expired", "ex.pay.dlx", "pay.wait.30s", 1, 8*time.Minute),
		entry("q.pay.inbox", "expired", "ex.pay.inbox", "pay.inbox", 1, 10*time.Minute),
	}
}

// body is one order, with as many items as fit, and a signature that fills it.
func body(r *rand.Rand, n, size int) []byte {
	var b strings.Builder
	b.Grow(size)
	fmt.Fprintf(&b, `{"orderNo":"%s","userId":%d,"amount":"%d.%02d","status":"PAID","remark":"%s","items":[`,
		orderNo(n, size), r.IntN(1_000_000), r.IntN(5000), r.IntN(100), remarks[r.IntN(len(remarks))])
	const room = 140 // of the longest item, and what follows
	for comma := ""; size-b.Len() > room+40; comma = "," {
		fmt.Fprintf(&b, `%s{"sku":"%s","name":"%s","quantity":%d,"trace":"%s"}`,
			comma, token(r, 12), goods[r.IntN(len(goods))], 1+r.IntN(9), token(r, 24))
	}
	b.WriteString(`],"sign":"`)
	b.WriteString(token(r, size-b.Len()-2))
	b.WriteString(`"}`)
	return []byte(b.String())
}

func orderNo(n, size int) string { return fmt.Sprintf("PO%05d%09d", size%100_000, n) }

// token is n characters that do not compress well.
func token(r *rand.Rand, n int) string {
	const alphabet = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"
	t := make([]byte, n)
	for i := 0; i < n; {
		for bits, k := r.Uint64(), 0; k < 10 && i < n; bits, k, i = bits>>6, k+1, i+1 {
			t[i] = alphabet[bits&63]
		}
	}
	return string(t)
}
