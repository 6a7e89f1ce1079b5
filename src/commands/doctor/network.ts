/** Checks what others reach: who answers in the service's name, TLS in front, mail. No mail is sent. */

import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { connect, type PeerCertificate } from 'node:tls';
import type { Config } from '../../config.ts';
import { dayMs } from '../../core/time.ts';
import { isLoopback } from '../../ip/loopback.ts';
import { checkSmtp, isOnThisMachine, tlsText } from '../../signon/mail/smtp.ts';
import { exposureFaults } from '../shell/settings.ts';
import { advice, type Finding, fault, fine, skewMsMax } from './finding.ts';

const waitMs = 5_000;
const healthBytesMax = 64 * 1024;
const manifestBytesMax = 8 * 1024 * 1024;
const certificateDaysMin = 14;

export function inspectExposure(config: Config): Finding {
  const faults = exposureFaults(config);
  const isLocal = [config.baseUrl, config.secureUrl].every((url) =>
    isLoopback(new URL(url).hostname),
  );
  if (isLoopback(config.host) && isLocal) {
    return fine('exposure', `for this machine alone: HOST is ${config.host}`);
  }
  if (faults.length === 0) return fine('exposure', 'links are https, mails are sent');
  return fault('exposure', faults.join('; '), 'set https:// addresses and SMTP_URL');
}

/** The public port takes HTTP/1.1 alone. */
export function inspectHealthPort({ adminListen }: Config): Finding {
  if (adminListen !== undefined) {
    const { host, port } = adminListen;
    return fine('health checks', `HTTP/1.0 is answered on port ${port} of ${host}, too`);
  }
  const found = 'PORT takes HTTP/1.1 alone; checks by HTTP/1.0, such as option httpchk, fail';
  return advice('health checks', found, 'let them speak HTTP/1.1, or set ADMIN_LISTEN');
}

export async function inspectTls(config: Config, nowMs: number): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const url of new Set([config.baseUrl, config.secureUrl])) {
    if (url.startsWith('https:')) findings.push(...(await inspectTlsProxy(url, nowMs)));
  }
  if (findings.length === 0) {
    const found = 'BASE_URL is not https: visitors reach the server without TLS';
    return [advice('tls', found, 'put a proxy with TLS in front, and set BASE_URL to https')];
  }
  if (config.trustedProxies.length === 0) {
    const found = 'TRUSTED_PROXIES is not set: all visitors count as one client, the proxy';
    findings.push(fault('tls', found, 'set it to the address of the proxy, such as 127.0.0.1'));
  }
  return findings;
}

async function inspectTlsProxy(url: string, nowMs: number): Promise<Finding[]> {
  try {
    const days = Math.floor((Date.parse((await certificateOf(url)).valid_to) - nowMs) / dayMs);
    const found = `the certificate of ${url} is valid for ${days} more days`;
    const isShort = days < certificateDaysMin;
    const certificate = isShort ? fault('tls', found, 'renew it') : fine('tls', found);
    const answer = await ask(`${url}/healthz`, healthBytesMax);
    const skewMs = Math.abs(Date.parse(answer.date ?? '') - nowMs);
    const findings = [certificate];
    if (answer.status !== 200) {
      const status = `${url}/healthz answers ${answer.status}`;
      findings.push(fault('tls', status, 'point the proxy to HOST and PORT, and start the server'));
    }
    if (skewMs > skewMsMax) {
      const apart = `${url} has another time, by ${Math.round(skewMs / 1_000)} s`;
      findings.push(fault('clock', apart, 'set both clocks, by NTP'));
    }
    return findings;
  } catch (error) {
    const found = `${url}: ${(error as Error).message}`;
    return [fault('tls', found, 'put a TLS proxy in front, with a certificate for this name')];
  }
}

/** Rejects on one that a browser would not take. */
function certificateOf(url: string): Promise<PeerCertificate> {
  const { hostname, port } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, '');
  return new Promise((resolve, reject) => {
    const options = { host, port: port === '' ? 443 : Number(port), servername: host };
    const socket = connect(options, () => {
      resolve(socket.getPeerCertificate());
      socket.destroy();
    });
    socket.setTimeout(waitMs, () => socket.destroy(new Error('no answer in 5 s')));
    socket.once('error', reject);
  });
}

export async function inspectMail({ smtpUrl, mailFrom }: Config): Promise<Finding[]> {
  if (smtpUrl === undefined) {
    return [advice('mail', 'SMTP_URL is not set: mails are files in DATA_DIR/outbox', 'set it')];
  }
  const check = await checkSmtp(smtpUrl, waitMs);
  // It may have a password.
  const url = new URL(smtpUrl);
  const server = url.host;
  const findings: Finding[] = [];
  if (check.refused !== undefined) {
    const mend = 'mend SMTP_URL, or the mail server';
    findings.push(fault('mail', `${server}: ${check.refused}`, mend));
  } else if (check.isTrusted || isOnThisMachine(url)) {
    findings.push(fine('mail', `${server} takes mail ${tlsText(check)}`));
  } else {
    const found = `${server} takes mail ${tlsText(check)}: passwords and links can be read on the way`;
    findings.push(
      advice('mail', found, 'take tls=optional and tls.rejectUnauthorized out of SMTP_URL'),
    );
  }
  if (/@localhost$/i.test(mailFrom)) {
    findings.push(fault('mail', `MAIL_FROM is ${mailFrom}`, 'set it to an address of your domain'));
  }
  return findings;
}

/** Checks that this service answers at BASE_URL: another program there gets all its visitors. */
export async function inspectAnswer({ baseUrl }: Config): Promise<Finding> {
  const about = 'address';
  let body: string;
  let title: unknown;
  try {
    body = (await ask(`${baseUrl}/healthz`, healthBytesMax)).body;
    title = titleOf((await ask(`${baseUrl}/openapi.json`, manifestBytesMax)).body);
  } catch (error) {
    const found = `nobody answers at ${baseUrl}: ${(error as Error).message}`;
    return advice(about, found, 'start the server, and the proxy in front of it');
  }
  if (title === 'Portcullis') return fine(about, `the service answers at ${baseUrl}`);
  const found = `another program answers at ${baseUrl}: it begins with '${start(body)}'`;
  return fault(about, found, 'stop it, or set BASE_URL to where the service is');
}

function titleOf(text: string): unknown {
  try {
    return (JSON.parse(text) as { info?: { title?: unknown } } | null)?.info?.title;
  } catch {
    return undefined;
  }
}

function start(text: string): string {
  return text
    .slice(0, 40)
    .replace(/[\p{C}\s']+/gu, ' ')
    .trim();
}

// Asks an address once, by `node:http`: the global fetch needs an address space of gigabytes.

interface BriefAnswer {
  readonly status: number;
  /** The `Date` header, by which the clock of the other side is compared with this one. */
  readonly date: string | undefined;
  /** Its beginning, where it is longer than was asked for. */
  readonly body: string;
}

/** Follows no redirect. @throws Error whose message says in words why nothing came */
async function ask(url: string, bodyBytesMax: number): Promise<BriefAnswer> {
  const request = new URL(url).protocol === 'https:' ? requestHttps : requestHttp;
  const late = AbortSignal.timeout(waitMs);
  return new Promise((resolve, reject) => {
    function fail(error: Error): void {
      reject(late.aborted ? new Error(`no answer in ${waitMs / 1_000} s`) : inWords(error));
    }
    const asked = request(url, { agent: false, signal: late }, (response) => {
      const parts: Buffer[] = [];
      let bytes = 0;
      function end(): void {
        const body = Buffer.concat(parts).subarray(0, bodyBytesMax).toString('utf8');
        resolve({ status: response.statusCode!, date: response.headers.date, body });
        response.destroy();
      }
      response.on('data', (part: Buffer) => {
        parts.push(part);
        bytes += part.length;
        if (bytes > bodyBytesMax) end();
      });
      response.on('end', end);
      response.on('error', fail);
    });
    asked.on('error', fail);
    asked.end();
  });
}

/** A host with several addresses fails by a list of errors, which has no words of its own. */
function inWords(error: Error): Error {
  const [first] = error instanceof AggregateError ? (error.errors as Error[]) : [];
  return first ?? error;
}
