# syntax=docker/dockerfile:1
# Debian 13: the web server's binaries need glibc 2.38 or later.
FROM node:24-trixie-slim AS build
WORKDIR /opt/portcullis
COPY . .
# Builds the server, too. What only the build needs is removed.
RUN npm ci --omit=dev --no-audit --no-fund \
  && rm -rf node_modules/typescript node_modules/@typescript node_modules/esbuild node_modules/@esbuild

FROM node:24-trixie-slim
WORKDIR /opt/portcullis
COPY --from=build /opt/portcullis/package.json ./package.json
COPY --from=build /opt/portcullis/bin ./bin
COPY --from=build /opt/portcullis/dist ./dist
COPY --from=build /opt/portcullis/data ./data
COPY --from=build /opt/portcullis/docs ./docs
COPY --from=build /opt/portcullis/node_modules ./node_modules
RUN install -d -o node -g node -m 700 /var/lib/portcullis
# Fewer arenas of the allocator, which give back what is freed: some 40 MB less.
ENV MALLOC_ARENA_MAX=2 MALLOC_TRIM_THRESHOLD_=1048576
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080 DATA_DIR=/var/lib/portcullis
USER node
VOLUME /var/lib/portcullis
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8080/readyz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "bin/portcullis.js"]
CMD ["serve"]
