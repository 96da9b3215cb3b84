package main

import "math/rand/v2"

// deck deals the numbers of messages, each one to four times: half of the twins
// one after the other, half spread over what is dealt meanwhile.
type deck struct {
	random *rand.Rand
	next   int
	same   [2]int // of the stretches in which all messages are alike
	pool   []int
}

// perPhase is how many numbers a phase has.
const perPhase = 10_000_000

func newDeck(random *rand.Rand, phase int) *deck {
	first := phase * perPhase
	return &deck{random: random, same: [2]int{first, first + 1}, next: first + 2}
}

// deal deals n numbers, the same ones for each queue where they are to be alike.
func (d *deck) deal(n int, alike bool) []int {
	dealt := make([]int, 0, n+3)
	for len(dealt) < n {
		switch {
		case alike:
			dealt = append(dealt, d.same[len(dealt)%2])
		case len(d.pool) > 400 || (len(d.pool) > 0 && d.random.IntN(2) == 0):
			i := d.random.IntN(len(d.pool))
			dealt = append(dealt, d.pool[i])
			d.pool[i] = d.pool[len(d.pool)-1]
			d.pool = d.pool[:len(d.pool)-1]
		default:
			dealt = append(dealt, d.fresh()...)
		}
	}
	return dealt
}

// fresh deals a new number, with its twins or with these left in the pool.
func (d *deck) fresh() []int {
	number, twins := d.next, d.random.IntN(4)
	d.next++
	dealt := []int{number}
	together := d.random.IntN(2) == 0
	for range twins {
		if together {
			dealt = append(dealt, number)
		} else {
			d.pool = append(d.pool, number)
		}
	}
	return dealt
}

// pair deals a new number for each queue.
func (d *deck) pair() []int {
	d.next += 2
	return []int{d.next - 2, d.next - 1}
}

// rest deals what is left.
func (d *deck) rest() []int {
	left := d.pool
	d.pool = nil
	return left
}

// queueOf is the queue of a number, of two.
func queueOf(number int) int { return number % 2 }
