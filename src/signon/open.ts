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
import { type AccountCompanion, noCompanion } from './companion.ts';
import { createDeletion, type Deletion, type PersonalData } from './deletion.ts';
import { createEmailChange, type EmailChange, emailChangeLimit } from './email-change.ts';
import { isErased } from './erasure-mark.ts';
import { createErasures, type Erasures } from './erasures.ts';
import { createLinks } from './links.ts';
import { pageLinks } from './links-to-pages.ts';
import { createMailer, type Mailer, type MailTransport } from './mail/mailer.ts';
import { noFarewell, openOutbox } from './mail/outbox.ts';
import { createMailShares } from './mail/shares.ts';
import { smtpTransport } from './mail/smtp.ts';
import { type MessageSender, outboxMessages, webhookMessages } from './messages.ts';
import { createNewPasswords } from './new-password.ts';
import { createPasskeyCeremonies } from './passkey-ceremonies.ts';
import { createPasskeys, type Passkeys } from './passkeys.ts';
import { openPasswordStrength, type PasswordStrength } from './password-strength.ts';
import { type Argon2Parameters, createPasswords } from './passwords.ts';
import { openPeople, type People } from './people.ts';
import { ownPersonalData } from './personal-data.ts';
import { createPhoneCodes, type PhoneCodes, phoneLimits } from './phone.ts';
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
  readonly smsWebhookUrl: string | undefined;
  readonly companion?: AccountCompanion;
  /** What others keep of a person: profile, consents. */
  readonly personalData?: readonly PersonalData[];
  /** In place of SMTP_URL and the outbox, for tests. */
  readonly mailTransport?: MailTransport;
  /** In place of SMS_WEBHOOK_URL and the outbox. */
  readonly messageSender?: MessageSender;
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
  readonly passkeys: Passkeys;
  readonly phoneCodes: PhoneCodes;
  readonly emailChange: EmailChange;
  readonly deletion: Deletion;
  /** Run its `resume` at the start. */
  readonly erasures: Erasures;
  readonly securityLog: SecurityLog;
  readonly mailer: Mailer;
  close(): Promise<void>;
}

const phoneSubjectsMax = 16_384;
const accountSubjectsMax = 16_384;

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
    isErased: (accountId) => isErased(store, accountId),
  });
  const mailer = createMailer({
    transport:
      options.mailTransport ??
      (options.smtpUrl === undefined
        ? outbox.mail
        : smtpTransport(options.smtpUrl, options.mailFrom)),
    service,
    clock,
    log,
    limit: createMailShares(),
  });
  const isKeptHere = options.mailTransport === undefined && options.smtpUrl === undefined;
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
  const companion = options.companion ?? noCompanion;
  const parts = { store, clock, random, log, people, links, mailer, pages, securityLog, companion };
  const signIn = createSignIn({ ...parts, passwords, sessions, attempts, secondFactors });
  const ceremonies = createPasskeyCeremonies(options);
  const sender =
    options.messageSender ??
    (options.smsWebhookUrl === undefined
      ? outboxMessages(outbox)
      : webhookMessages(options.smsWebhookUrl, log));
  const deletion = createDeletion({
    ...parts,
    data: [
      ...(options.personalData ?? []),
      ...ownPersonalData({ store, sessions, secondFactors, securityLog, outbox }),
    ],
    farewell: isKeptHere
      ? undefined
      : (email, language) => mailer.deliver(email, language, 'accountDeleted', {}),
    untold: noFarewell(log),
  });
  const erasures = createErasures({ deletion, log });
  return {
    people,
    sessions,
    secondFactors,
    securityLog,
    mailer,
    registration: createRegistration({
      ...parts,
      newPasswords,
      passwords,
      attempts,
      sessions,
      ceremonies,
    }),
    signIn,
    passkeys: createPasskeys({ ...parts, sessions, signIn, ceremonies }),
    phoneCodes: createPhoneCodes({
      ...parts,
      sender,
      limits: createClientLimits(phoneLimits, phoneSubjectsMax),
      service,
    }),
    emailChange: createEmailChange({
      ...parts,
      sessions,
      limits: createClientLimits({ emailChange: emailChangeLimit }, accountSubjectsMax),
    }),
    deletion,
    erasures,
    recovery: createRecovery({ ...parts, newPasswords, sessions }),
    async close() {
      await Promise.all([erasures.close(), mailer.close(), strength.close()]);
    },
  };
}
