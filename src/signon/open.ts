/**
 * Sign-on as one object: makes the parts from what the composition root has and hands each the
 * little that it needs. No HTML and no HTTP here. One instance in a process: attempts and the mail
 * limit are in its memory.
 */

import { createClientLimits } from '../access/client-limits.ts';
import type { MasterKey } from '../access/master-key.ts';
import type { Clock } from '../core/clock.ts';
import type { Log } from '../core/log.ts';
import type { Random } from '../core/random.ts';
import type { Store } from '../store/store.ts';
import { createAttempts } from './attempts.ts';
import { createLinks } from './links.ts';
import { pageLinks } from './links-to-pages.ts';
import { createMailer, type Mailer, type MailTransport } from './mail/mailer.ts';
import { openOutbox } from './mail/outbox.ts';
import { smtpTransport } from './mail/smtp.ts';
import { createNewPasswords } from './new-password.ts';
import { openPasswordStrength, type PasswordStrength } from './password-strength.ts';
import { type Argon2Parameters, createPasswords } from './passwords.ts';
import { openPeople, type People } from './people.ts';
import { createRecovery, type Recovery } from './recovery.ts';
import { createRegistration, type Registration } from './registration.ts';
import { createSecondFactors, type SecondFactors } from './second-factors.ts';
import { createSecurityLog, type SecurityLog } from './security-log.ts';
import { createSessions, type Sessions } from './sessions.ts';
import { createSignIn, type SignIn } from './sign-in.ts';

export interface SignonOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly masterKey: MasterKey;
  /** BASE_URL: scheme, host and port. */
  readonly baseUrl: string;
  readonly dataDir: string;
  readonly smtpUrl: string | undefined;
  readonly mailFrom: string;
  /** In place of SMTP_URL and the outbox, for tests. */
  readonly mailTransport?: MailTransport;
  /** Cheaper hashes, for tests. */
  readonly argon2?: Argon2Parameters;
  readonly strength?: PasswordStrength;
}

export interface Signon {
  readonly people: People;
  readonly registration: Registration;
  readonly signIn: SignIn;
  readonly recovery: Recovery;
  readonly sessions: Sessions;
  readonly secondFactors: SecondFactors;
  readonly securityLog: SecurityLog;
  readonly mailer: Mailer;
  close(): Promise<void>;
}

/** Mails to one address, whatever they are about. */
export const mailLimit = { max: 5, windowMs: 3_600_000 } as const;
const mailAddressesMax = 16_384;

export function openSignon(options: SignonOptions): Signon {
  const { store, clock, random, log, masterKey, baseUrl } = options;
  const service = new URL(baseUrl).hostname;
  const pages = pageLinks(baseUrl);
  const people = openPeople(store);
  const links = createLinks(options);
  const attempts = createAttempts({ clock });
  const securityLog = createSecurityLog(options);
  const outbox = openOutbox({
    folder: `${options.dataDir}/outbox`,
    from: options.mailFrom,
    clock,
    random,
    log,
  });
  const limits = createClientLimits({ mail: mailLimit }, mailAddressesMax);
  const mailer = createMailer({
    transport:
      options.mailTransport ??
      (options.smtpUrl === undefined
        ? outbox.mail
        : smtpTransport(options.smtpUrl, options.mailFrom)),
    service,
    clock,
    log,
    limit: (to, nowMs) => limits.take('mail', to, nowMs),
  });
  const passwords = createPasswords({
    random,
    ...(options.argon2 === undefined ? {} : { parameters: options.argon2 }),
  });
  const strength = options.strength ?? openPasswordStrength();
  const newPasswords = createNewPasswords({ passwords, strength, service });
  const sessions = createSessions({ store, clock, random, people });
  const secondFactors = createSecondFactors({
    store,
    clock,
    random,
    masterKey,
    service,
    securityLog,
  });
  const parts = { store, clock, random, log, people, links, mailer, pages, securityLog };
  return {
    people,
    sessions,
    secondFactors,
    securityLog,
    mailer,
    registration: createRegistration({ ...parts, newPasswords }),
    signIn: createSignIn({ ...parts, passwords, sessions, attempts, secondFactors }),
    recovery: createRecovery({ ...parts, newPasswords, sessions }),
    async close() {
      await Promise.all([mailer.close(), strength.close()]);
    },
  };
}
