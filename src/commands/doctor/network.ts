/** Checks what others reach: the address in links, TLS in front, mail. No mail is sent. */

import { connect, type PeerCertificate } from 'node:tls';
import type { Config } from '../../config.ts';
import { dayMs } from '../../core/time.ts';
import { isLoopback } from '../../ip/loopback.ts';
import { checkSmtp, isOnThisMachine, tlsText } from '../../signon/mail/smtp.ts';
import { exposureFaults } from '../shell/exposure.ts';
import { advice, type Finding, fault, fine } from './finding.ts';
import { ask } from './surroundings.ts';

const waitMs = 5_000;
const healthBytesMax = 64 * 1024;
const certificateDaysMin = 14;
const skewMsMax = 30_000;

export function lookAtExposure(config: Config): Finding {
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
export function lookAtHealthPort({ adminListen }: Config): Finding {
  if (adminListen !== undefined) {
    const { host, port } = adminListen;
    return fine('health checks', `HTTP/1.0 is answered on port ${port} of ${host}, too`);
  }
  const found = 'PORT takes HTTP/1.1 alone; checks by HTTP/1.0, such as option httpchk, fail';
  return advice('health checks', found, 'let them speak HTTP/1.1, or set ADMIN_LISTEN');
}

export async function lookAtTls(config: Config, nowMs: number): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const url of new Set([config.baseUrl, config.secureUrl])) {
    if (url.startsWith('https:')) findings.push(...(await lookAtFront(url, nowMs)));
  }
  if (findings.length === 0)
    return [fine('tls', 'BASE_URL is not https: there is no TLS to look at')];
  if (config.trustedProxies.length === 0) {
    const found = 'TRUSTED_PROXIES is not set: all visitors count as one client, the proxy';
    findings.push(fault('tls', found, 'set it to the address of the proxy, such as 127.0.0.1'));
  }
  return findings;
}

async function lookAtFront(url: string, nowMs: number): Promise<Finding[]> {
  try {
    const days = Math.floor((Date.parse((await certificateOf(url)).valid_to) - nowMs) / dayMs);
    const found = `the certificate of ${url} is valid for ${days} more days`;
    const isShort = days < certificateDaysMin;
    const certificate = isShort ? fault('tls', found, 'renew it') : fine('tls', found);
    const answer = await ask(`${url}/healthz`, waitMs, healthBytesMax);
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

export async function lookAtMail({ smtpUrl, mailFrom }: Config): Promise<Finding[]> {
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
