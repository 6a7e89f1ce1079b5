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
import * as avatar from '../signon/account/avatar.route.ts';
import * as confirm from '../signon/account/confirm.route.ts';
import * as data from '../signon/account/data.route.ts';
import * as keys from '../signon/account/keys.route.ts';
import * as namedKeys from '../signon/account/named-keys.route.ts';
import * as profile from '../signon/account/profile.route.ts';
import * as ownReports from '../signon/account/reports.route.ts';
import * as review from '../signon/account/review.route.ts';
import * as security from '../signon/account/security.route.ts';
import * as sites from '../signon/account/sites.route.ts';
import * as webhooks from '../signon/account/webhooks.route.ts';
import * as outbox from '../signon/mail/outbox.route.ts';
import * as recover from '../signon/people/pages/recover.route.ts';
import * as register from '../signon/people/pages/register.route.ts';
import * as verify from '../signon/people/pages/verify.route.ts';
import * as signIn from '../signon/sessions/sign-in/sign-in.route.ts';
import * as signInLink from '../signon/sessions/sign-in/sign-in-link.route.ts';
import * as signOut from '../signon/sessions/sign-out.route.ts';
import * as authorize from '../signon/sites/pages/authorize.route.ts';
import * as consent from '../signon/sites/pages/consent.route.ts';
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
  avatar.avatarEndpoint, // GET /avatars/:name
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

/** Whoever comes to sign in, to register, or from another site. */
const visitors: readonly Endpoint[] = [
  register.registerEndpoints.ask, // GET /register
  register.registerEndpoints.register, // POST /register
  register.registerEndpoints.noPasskey, // GET /register/passkey
  register.registerEndpoints.registerPasskey, // POST /register/passkey
  register.registerEndpoints.sent, // GET /register/sent
  register.registerEndpoints.again, // POST /register/again
  verify.verifyEndpoints.ask, // GET /verify
  verify.verifyEndpoints.verify, // POST /verify
  verify.verifyEndpoints.passkeyOptions, // POST /verify/passkey/options
  signIn.signInEndpoints.ask, // GET /signin
  signIn.signInEndpoints.withPassword, // POST /signin
  signInLink.signInLinkEndpoints.show, // GET /signin/link
  signInLink.signInLinkEndpoints.use, // POST /signin/link
  signInLink.signInLinkEndpoints.sent, // GET /signin/link/sent
  signIn.signInEndpoints.secondFactor, // GET /signin/second-factor
  signIn.signInEndpoints.withSecondFactor, // POST /signin/second-factor
  signIn.signInEndpoints.passkeyOptions, // POST /signin/passkey/options
  signIn.signInEndpoints.withPasskey, // POST /signin/passkey
  recover.recoverEndpoints.ask, // GET /recover
  recover.recoverEndpoints.request, // POST /recover
  recover.recoverEndpoints.sent, // GET /recover/sent
  recover.recoverEndpoints.askReset, // GET /reset
  recover.recoverEndpoints.reset, // POST /reset
  authorize.authorizeEndpoints.begin, // GET /authorize.php
  authorize.authorizeEndpoints.goOn, // GET /authorize.php/continue
  consent.consentAgainEndpoint, // GET /authorize.php/consent
  consent.consentEndpoint, // POST /authorize.php/consent
  data.dataEndpoints.gone, // GET /goodbye
];

/** Whoever has a session, verified or not. */
const signedIn: readonly Endpoint[] = [
  verify.verifyEndpoints.resend, // POST /verify/resend
  signOut.signOutEndpoint, // POST /signout
];

/** The same with a verified mail address, while a review of the account is due too. */
const reviewing: readonly Endpoint[] = [
  confirm.confirmEndpoints.show, // GET /account/confirm
  confirm.confirmEndpoints.byPassword, // POST /account/confirm
  confirm.confirmEndpoints.passkeyOptions, // POST /account/confirm/passkey/options
  confirm.confirmEndpoints.byPasskey, // POST /account/confirm/passkey
  review.reviewEndpoints.ask, // GET /account/review
  review.reviewEndpoints.decide, // POST /account/review
];

/** Whoever has a session, a verified mail address and no review due. */
const verified: readonly Endpoint[] = [
  profile.profileEndpoints.show, // GET /account
  profile.profileEndpoints.save, // POST /account/profile
  profile.profileEndpoints.changeEmail, // POST /account/email
  recover.recoverEndpoints.askConfirm, // GET /account/email/confirm
  recover.recoverEndpoints.confirm, // POST /account/email/confirm
  avatar.ownAvatarEndpoints.put, // POST /account/avatar
  avatar.ownAvatarEndpoints.remove, // POST /account/avatar/remove
  keys.keyEndpoints.show, // GET /account/keys
  ownReports.reportsEndpoints.show, // GET /account/reports
  ownReports.reportsEndpoints.takeBack, // POST /account/reports/take-back
  webhooks.webhookEndpoints.show, // GET /account/webhooks
  webhooks.webhookEndpoints.test, // POST /account/webhooks/test
  webhooks.webhookEndpoints.remove, // POST /account/webhooks/remove
  keys.keyEndpoints.createSiteKey, // POST /account/site-keys/create
  keys.keyEndpoints.revokeSiteKey, // POST /account/site-keys/revoke
  security.securityEndpoints.show, // GET /account/security
  security.securityEndpoints.changePassword, // POST /account/security/password
  security.securityEndpoints.showTotp, // GET /account/security/totp
  security.securityEndpoints.beginTotp, // POST /account/security/totp/begin
  security.securityEndpoints.enableTotp, // POST /account/security/totp/enable
  security.securityEndpoints.renewCodes, // POST /account/security/totp/renew
  security.securityEndpoints.disableTotp, // POST /account/security/totp/disable
  security.securityEndpoints.passkeyOptions, // POST /account/security/passkeys/options
  security.securityEndpoints.addPasskey, // POST /account/security/passkeys
  security.securityEndpoints.removePasskey, // POST /account/security/passkeys/remove
  security.securityEndpoints.endSession, // POST /account/security/sessions/end
  security.securityEndpoints.endOthers, // POST /account/security/sessions/end-others
  sites.siteEndpoints.show, // GET /account/sites
  sites.siteEndpoints.revoke, // POST /account/sites/revoke
  data.dataEndpoints.show, // GET /account/data
];

/** The same with a fresh proof of identity. */
const confirmed: readonly Endpoint[] = [
  profile.profileEndpoints.sendCode, // POST /account/phone
  profile.profileEndpoints.verifyCode, // POST /account/phone/verify
  profile.profileEndpoints.removePhone, // POST /account/phone/remove
  keys.keyEndpoints.create, // POST /account/keys/create
  keys.keyEndpoints.reveal, // POST /account/keys/reveal
  keys.keyEndpoints.revoke, // POST /account/keys/revoke
  namedKeys.namedKeyEndpoints.create, // POST /account/keys/named/create
  namedKeys.namedKeyEndpoints.rename, // POST /account/keys/named/rename
  namedKeys.namedKeyEndpoints.remove, // POST /account/keys/named/remove
  webhooks.webhookEndpoints.create, // POST /account/webhooks/create
  data.dataEndpoints.download, // POST /account/export
  data.dataEndpoints.remove, // POST /account/delete
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
  ...visitors,
  ...signedIn,
  ...reviewing,
  ...verified,
  ...confirmed,
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
