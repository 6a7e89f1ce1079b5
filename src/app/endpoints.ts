/**
 * Every path of the service, grouped by who may call. The declarations stand with their handlers;
 * here they meet. What is published about paths, limits and errors is made of this list.
 */

import * as challenge from '../captcha/challenge/challenge.endpoints.ts';
import * as captchaPage from '../captcha/page/captcha-page.route.ts';
import * as receipt from '../captcha/receipt/receipt.route.ts';
import * as widget from '../captcha/receipt/widget.route.ts';
import { consoleEndpoints } from '../console/console.route.ts';
import { type Route, unknownPath } from '../http/router.ts';
import * as agentReads from '../integrations/agents/agent-reads.route.ts';
import * as agents from '../integrations/agents/agents.route.ts';
import { streamEndpoint, usageEndpoint } from '../integrations/bouncers/bouncers.route.ts';
import { upEndpoint } from '../integrations/bouncers/health.route.ts';
import { liveEndpoint } from '../integrations/bouncers/live.route.ts';
import { policyEndpoint } from '../integrations/dovecot/policy.route.ts';
import { gateEndpoints } from '../integrations/gate/challenge.route.ts';
import { envoyEndpoint, gateEndpoint } from '../integrations/gate/check.route.ts';
import * as ipPage from '../reputation/address/address.route.ts';
import { findAddressEndpoint } from '../reputation/address/find.route.ts';
import { networkEndpoint } from '../reputation/address/network.route.ts';
import { systemEndpoint } from '../reputation/address/system.route.ts';
import * as blacklist from '../reputation/blocklists/blacklist.route.ts';
import * as feeds from '../reputation/blocklists/feeds.route.ts';
import * as feedsPage from '../reputation/blocklists/feeds-page.route.ts';
import * as check from '../reputation/check/check.route.ts';
import * as checkBlock from '../reputation/check/check-block.route.ts';
import * as checkBulk from '../reputation/check/check-bulk.route.ts';
import { statsEndpoint } from '../reputation/counts/stats.route.ts';
import { radarEndpoints } from '../reputation/radar/radar.route.ts';
import * as bulkReport from '../reputation/reports/bulk/bulk-report.route.ts';
import * as clearAddress from '../reputation/reports/clear-address.route.ts';
import * as report from '../reputation/reports/report.route.ts';
import * as reports from '../reputation/reports/reports.route.ts';
import { requestEndpoints } from '../reputation/requests/requests.route.ts';
import * as outbox from '../signon/mail/outbox.route.ts';
import { signonEndpoints } from '../signon/signon.route.ts';
import * as exchange from '../signon/sites/pages/exchange.route.ts';
import { connectEndpoints } from '../site/connect/connect.route.ts';
import * as docs from '../site/docs/docs.route.ts';
import { looksEndpoint } from '../site/home/appearance.route.ts';
import * as home from '../site/home/home.route.ts';
import { staticEndpoint } from '../site/home/static.endpoint.ts';
import * as kit from '../site/kit/kit.route.ts';
import * as published from '../site/manifest/published.route.ts';
import type { Endpoint } from '../web/guard/endpoint.ts';
import { healthEndpoint } from './health.route.ts';
import * as service from './service.route.ts';

/** Anyone, without a key. */
const open: readonly Endpoint[] = [
  home.homeEndpoint, // GET /
  staticEndpoint, // GET /static/*
  home.faviconEndpoint, // GET /favicon.ico
  looksEndpoint, // POST /looks
  findAddressEndpoint, // GET /ip
  ipPage.addressEndpoint, // GET /ip/:address
  networkEndpoint, // GET /ip/*
  systemEndpoint, // GET /as/:number
  ...requestEndpoints, // GET /removal, POST /removal, GET /report, POST /report
  feedsPage.feedsPageEndpoint, // GET /feeds
  feedsPage.feedsSlashEndpoint, // GET /feeds/
  ...feeds.feedEndpoints, // GET /feeds/*
  statsEndpoint, // GET /api/v2/stats
  ...radarEndpoints, // GET /radar, /radar/map.png, /radar/events, /radar/8/:octet, /radar/16/:network
  ...connectEndpoints, // GET /connect, /connect/:target, /connect/seen, /connect/seen/:target, /connect/key
  ...docs.docsEndpoints, // GET /docs, /docs/, /docs/:page, /docs/*.md, /docs/search.json
  ...published.publishedEndpoints, // GET /manifest, /manifest.schema.json, /openapi.json, /llms.txt
  kit.kitEndpoint, // GET /kit.zip
  captchaPage.captchaMovedEndpoint, // GET /captcha
  captchaPage.captchaPageEndpoint, // GET /captcha/
  captchaPage.captchaAnswerEndpoint, // POST /captcha/
  challenge.newChallenge, // GET /captcha/new
  challenge.challengePicture, // GET /captcha/img/:file
  challenge.challengeSound, // GET /captcha/audio/:file
  challenge.verifyChallenge, // POST /captcha/verify
  widget.widgetEndpoint, // GET /captcha/widget.js
  widget.namesEndpoint, // GET /captcha/api.js
  receipt.siteverifyEndpoint, // POST /captcha/siteverify
  receipt.siteverifyByQueryEndpoint, // GET /captcha/siteverify
  exchange.exchangeEndpoint, // GET /api.php
  exchange.exchangeByFormEndpoint, // POST /api.php
  outbox.outboxEndpoint, // GET /outbox/:name
  gateEndpoint, // GET /gate/check
  envoyEndpoint, // GET /gate/envoy/*
  gateEndpoints.show, // GET /.portcullis/challenge
  gateEndpoints.answer, // POST /.portcullis/challenge
  gateEndpoints.another, // GET /.portcullis/new
  gateEndpoints.picture, // GET /.portcullis/img/:file
  gateEndpoints.sound, // GET /.portcullis/audio/:file
  gateEndpoints.file, // GET /.portcullis/static/*
  healthEndpoint, // GET /healthz
  upEndpoint, // GET /health
  service.readinessEndpoint, // GET /readyz
  service.robotsEndpoint, // GET /robots.txt
  service.securityTxtEndpoint, // GET /.well-known/security.txt
  service.changePasswordEndpoint, // GET /.well-known/change-password
  service.webManifestEndpoint, // GET /site.webmanifest
];

/** Whoever has an API key. */
const keyed: readonly Endpoint[] = [
  check.checkEndpoint, // GET /api/v2/check
  checkBulk.checkBulkEndpoint, // POST /api/v2/check-bulk
  checkBlock.checkBlockEndpoint, // GET /api/v2/check-block
  blacklist.blacklistEndpoint, // GET /api/v2/blacklist
  reports.reportsEndpoint, // GET /api/v2/reports
  report.reportEndpoint, // POST /api/v2/report
  bulkReport.bulkReportEndpoint, // POST /api/v2/bulk-report
  clearAddress.clearAddressEndpoint, // DELETE /api/v2/clear-address
  receipt.receiptEndpoint, // POST /captcha/receipt
];

/** Whoever has the key of a bouncer. */
const bouncers: readonly Endpoint[] = [
  liveEndpoint, // GET /v1/decisions
  streamEndpoint, // GET /v1/decisions/stream
  usageEndpoint, // POST /v1/usage-metrics
  policyEndpoint, // POST /policy/dovecot
];

/** Whoever has the key of an agent, and then its token. */
const ofAgents: readonly Endpoint[] = [
  agents.loginEndpoint, // POST /v1/watchers/login
  agents.heartbeatEndpoint, // GET /v1/heartbeat
  agents.alertsEndpoint, // POST /v1/alerts
  agents.takeBackEndpoint, // DELETE /v1/decisions
  agents.takeBackOneEndpoint, // DELETE /v1/decisions/:id
  agentReads.ownAlertsEndpoint, // GET /v1/alerts
  agentReads.allowlistsEndpoint, // GET /v1/allowlists
  agentReads.allowlistCheckEndpoint, // GET /v1/allowlists/check/:value
  agentReads.allowlistsCheckEndpoint, // POST /v1/allowlists/check
];

/** The operator alone. */
const operators: readonly Endpoint[] = [
  service.metricsEndpoint, // GET /metrics
];

/** Accounts with the operator's role. */
const consoles: readonly Endpoint[] = [
  ...consoleEndpoints, // GET /admin, /admin/*, POST /admin/*
];

export const endpoints: readonly Endpoint[] = [
  ...open,
  ...keyed,
  ...bouncers,
  ...ofAgents,
  ...operators,
  ...signonEndpoints,
  ...consoles,
];

/**
 * The table of routes against the declarations, at every start: no route without a word on who may
 * call, none that is not listed here, nothing listed that is not served. Throws: it is a bug.
 */
export function checkTable(table: readonly Route[]): void {
  const lineOf = ({ who, method, path }: Route | Endpoint) => `${who} ${method} ${path}`;
  const listed = new Set(endpoints.map(lineOf));
  // The route for unknown paths is declared by no endpoint.
  const own = table.filter(({ path }) => path !== unknownPath);
  const served = new Set(own.map(lineOf));
  const unlisted = [...served].filter((line) => !listed.has(line));
  const unserved = [...listed].filter((line) => !served.has(line));
  if (unlisted.length + unserved.length === 0) return;
  throw new Error(`routes not listed: ${unlisted.join(', ')}; not served: ${unserved.join(', ')}`);
}
