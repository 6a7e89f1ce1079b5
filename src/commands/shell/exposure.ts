/**
 * Is the server open to other machines in a way that nobody can want: passwords in clear, or mails
 * that reach nobody? Found out before anything starts, so that it happens on purpose only.
 */

import type { Config } from '../../config.ts';
import { OperatorError } from '../../core/errors.ts';
import { isLoopback } from '../../ip/loopback.ts';

export type Exposed = Pick<Config, 'host' | 'baseUrl' | 'secureUrl' | 'smtpUrl'>;

/** Returns the faults of these settings on any address but loopback, in words; empty if none. */
export function exposureFaults({ baseUrl, secureUrl, smtpUrl }: Exposed): string[] {
  const plain = [
    ['BASE_URL', baseUrl],
    ['SECURE_URL', secureUrl],
  ].flatMap(([name, url]) => (url!.startsWith('https:') ? [] : [`${name} is ${url}`]));
  const faults: string[] = [];
  if (plain.length > 0) {
    faults.push(
      `${plain.join(' and ')}, so passwords, cookies and keys travel in clear (set https:// addresses and put a TLS proxy in front)`,
    );
  }
  if (smtpUrl === undefined) {
    faults.push(
      'SMTP_URL is not set, so links that open accounts are written to the outbox and the log instead of being mailed',
    );
  }
  return faults;
}

/**
 * @returns what to warn of
 * @throws OperatorError on an address that others reach, unless `insecure`
 */
export function checkExposure(config: Exposed, insecure: boolean): string[] {
  if (isLoopback(config.host)) return [];
  const faults = exposureFaults(config);
  if (faults.length === 0 || insecure) return faults;
  throw new OperatorError(
    `not started on ${config.host}, which other machines can reach: ${faults.join('; ')}. HOST=127.0.0.1 keeps it to this machine; --insecure starts it nevertheless`,
  );
}
