# Two images from one build: the console (the last stage, so the default) and,
# for the demo, its payment system (--target paydemo). Each is one static binary
# and the certificates, run by a user without a name or rights.

FROM node:20-bookworm-slim AS assets
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts \
 && mkdir vendor \
 && cp node_modules/htmx.org/dist/htmx.min.js node_modules/htmx-ext-sse/dist/sse.min.js vendor/

FROM golang:1.26.8-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
COPY --from=assets /src/vendor web/static/vendor
ARG VERSION=""
# timetzdata puts the time zones into the binary: the final image has none.
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=false -tags timetzdata \
    -ldflags "-s -w -X main.release=${VERSION}" -o /out/ ./cmd/console ./cmd/paydemo

FROM scratch AS base
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
USER 65532:65532

FROM base AS paydemo
COPY --from=build /out/paydemo /paydemo
ENTRYPOINT ["/paydemo"]

FROM base AS console
COPY --from=build /out/console /console
# A console.yaml mounted here is found without being named.
WORKDIR /etc/dlo
EXPOSE 8080 9464
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["/console", "healthcheck"]
ENTRYPOINT ["/console"]
CMD ["serve"]
