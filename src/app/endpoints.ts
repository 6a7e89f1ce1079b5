/**
 * Every path of the service, grouped by who may call. The declarations stand with their handlers;
 * here they meet. What is published about paths, limits and errors is made of this list.
 */

import { captchaEndpoints } from '../captcha/module.ts';
import { consoleEndpoints } from '../console/console.route.ts';
import { type Route, unknownPath } from '../http/router.ts';
import { crowdsecEndpoints } from '../integrations/crowdsec/module.ts';
import { dovecotEndpoints } from '../integrations/dovecot/module.ts';
import { forwardAuthEndpoints } from '../integrations/forward-auth/module.ts';
import { addressEndpoints } from '../reputation/address/address.route.ts';
import * as blacklist from '../reputation/blocklists/blacklist.route.ts';
import * as feeds from '../reputation/blocklists/feeds.route.ts';
import * as feedsPage from '../reputation/blocklists/feeds-page.route.ts';
import * as check from '../reputation/check/check.route.ts';
import * as checkBlock from '../reputation/check/check-block.route.ts';
import * as checkBulk from '../reputation/check/check-bulk.route.ts';
import { statsEndpoint } from '../reputation/counts/stats.route.ts';
import { radarEndpoints } from '../reputation/radar/radar.route.ts';
import * as bulkReport from '../reputation/reports/bulk-report.route.ts';
import * as report from '../reputation/reports/report.route.ts';
import * as reports from '../reputation/reports/reports.route.ts';
import { requestEndpoints } from '../reputation/requests/requests.route.ts';
import * as outbox from '../signon/mail/outbox.route.ts';
import { signonEndpoints } from '../signon/signon.route.ts';
import * as exchange from '../signon/sites/exchange.route.ts';
import { siteEndpoints } from '../site/module.ts';
import type { Endpoint } from '../web/guard/endpoint.ts';
import { healthEndpoint } from './health.route.ts';
import * as service from './service.route.ts';

/** Anyone, without a key. */
const open: readonly Endpoint[] = [
  ...addressEndpoints, // GET /ip, /ip/:address, /ip/*, /as/:number
  ...requestEndpoints, // GET /removal, POST /removal, GET /report, POST /report
  feedsPage.feedsPageEndpoint, // GET /feeds
  feedsPage.feedsSlashEndpoint, // GET /feeds/
  ...feeds.feedEndpoints, // GET /feeds/*
  statsEndpoint, // GET /api/v2/stats
  ...radarEndpoints, // GET /radar, /radar/map.png, /radar/events, /radar/8/:octet, /radar/16/:network
  exchange.exchangeEndpoint, // GET /api.php
  exchange.exchangeByFormEndpoint, // POST /api.php
  outbox.outboxEndpoint, // GET /outbox/:name
  healthEndpoint, // GET /healthz
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
  reports.clearAddressEndpoint, // DELETE /api/v2/clear-address
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
  ...siteEndpoints,
  ...open,
  ...captchaEndpoints,
  ...keyed,
  ...forwardAuthEndpoints,
  ...crowdsecEndpoints,
  ...dovecotEndpoints,
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
