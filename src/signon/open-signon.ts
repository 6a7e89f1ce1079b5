/**
 * Sign-on as one object: makes the parts from what the composition root has and hands each the
 * little that it needs. No HTML and no HTTP here. One instance in a process: attempts and the mail
 * limit are in its memory.
 */

import type { MasterKey } from '../access/keys/master-key.ts';
import { createClientLimits } from '../access/quota/client-limits.ts';
import { type DistributedLimits, localLimits } from '../access/quota/distributed-limits.ts';
import type { FactorDemand } from '../config.ts';
import type { PersonalData } from '../contracts/personal-data.ts';
import type { BoundedTable } from '../core/bounded-tables.ts';
import type { Clock } from '../core/clock.ts';
import type { Log } from '../core/log.ts';
import type { Random } from '../core/random.ts';
import type { ErasedList } from '../storage/backup/erased.ts';
import type { Maintenance } from '../storage/maintenance.ts';
import type { Store } from '../storage/store.ts';
import { type Mail, mailSender } from './mail/letter.ts';
import { createMailBudget, createMailer, type Mailer, type MailTransport } from './mail/mailer.ts';
import { createNotices, type Notices } from './mail/notices.ts';
import { noDeletionNotice, type Outbox, openOutbox } from './mail/outbox.ts';
import { smtpTransport } from './mail/smtp.ts';
import { type AccountChanges, createAccountChanges } from './people/account-changes.ts';
import {
  createDeletion,
  createErasures,
  type Deletion,
  type DeletionNotice,
  type Erasures,
} from './people/deletion.ts';
import { createEmailChange, type EmailChange, emailChangeLimit } from './people/email-change.ts';
import { isErased } from './people/erasure-mark.ts';
import { type AccountExtraRows, noExtraRows } from './people/extra-rows.ts';
import { createKeptForms, type KeptForms } from './people/kept-form.ts';
import { createLinks, pageLinks } from './people/links.ts';
import { type MessageSender, outboxMessages, webhookMessages } from './people/messages.ts';
import { createPacing, noPacing, type Pacing, pacedNetworksMax } from './people/pacing.ts';
import { createPendingCounter, restorePending } from './people/pending.ts';
import { ownPersonalData, type PersonalDataSources } from './people/personal-data.ts';
import { createRecovery, type Recovery } from './people/recovery.ts';
import {
  createRegisteredLately,
  createRegistration,
  type Registration,
} from './people/registration.ts';
import { hasReviewable } from './people/review.ts';
import type { RowCounterStats } from './people/row-counter.ts';
import { openPeople, type People } from './people.ts';
import { createAttempts } from './proofs/attempts.ts';
import {
  createBreachedPasswords,
  createNewPasswords,
  openPasswordStrength,
  type PasswordStrength,
} from './proofs/new-password.ts';
import { createPasskeyCeremonies, openPasskeyLibrary } from './proofs/passkey-ceremonies.ts';
import { createPasskeys, type Passkeys } from './proofs/passkeys.ts';
import { type Argon2Parameters, createPasswords } from './proofs/passwords.ts';
import { createPhoneCodes, type PhoneBounds, type PhoneCodes } from './proofs/phone.ts';
import { createSecondFactors, type SecondFactors } from './proofs/second-factors.ts';
import { createSecurityLog, type SecurityLog } from './sessions/security-log.ts';
import { createSessions, type Sessions } from './sessions/sessions.ts';
import { createSignIn, type SignIn } from './sessions/sign-in.ts';
import type { SignInLog } from './sessions/sign-in-log.ts';

export interface SignonOptions {
  readonly store: Store;
  readonly maintenance?: Maintenance;
  /** The limits that several nodes count together. */
  readonly shares?: Pick<DistributedLimits, 'room' | 'replicatedOperations'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly masterKey: MasterKey;
  /** BASE_URL: scheme, host and port. */
  readonly baseUrl: string;
  readonly dataDir: string;
  readonly smtpUrl: string | undefined;
  readonly mailFrom: string;
  readonly siteName?: string | undefined;
  readonly siteContact?: string | undefined;
  readonly siteLogo?: string | undefined;
  readonly smsWebhookUrl: string | undefined;
  /** PWNED_RANGE_URL */
  readonly pwnedRangeUrl?: string | undefined;
  /** REQUIRE_SECOND_FACTOR */
  readonly factorDemand?: FactorDemand;
  /** Also records the events of the accounts' security logs, for operators. */
  readonly signInLog?: Pick<SignInLog, 'listenTo'>;
  /** The countries to which text messages go, and how many in a day. */
  readonly texts?: PhoneBounds;
  /** Registration asks more of a network that registers many accounts. CLIENT_LIMITS=off switches it off. */
  readonly isPaced?: boolean;
  readonly extraRows?: AccountExtraRows;
  /** The personal data of other parts: profile, consents. */
  readonly personalData?: (store: Store) => readonly PersonalData[];
  /** Gets each deletion, so that a restore can repeat it. */
  readonly erased?: Pick<ErasedList, 'add'> | undefined;
  /** Called with each mail that is written to the outbox, for the demo. */
  readonly onMail?: ((mail: Mail) => void) | undefined;
  /** Replaces SMTP_URL and the outbox in tests. */
  readonly mailTransport?: MailTransport;
  /** Replaces SMS_WEBHOOK_URL and the outbox. */
  readonly messageSender?: MessageSender;
  /** The parameters of cheaper hashes, for tests. */
  readonly argon2?: Argon2Parameters;
  readonly strength?: PasswordStrength;
}

export interface Signon {
  readonly people: People;
  readonly registration: Registration;
  readonly keptForms: KeptForms;
  readonly pacing: Pick<Pacing, 'stats'>;
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
  readonly changes: AccountChanges;
  /** Run its `resume` at the start. */
  readonly notices: Notices;
  readonly mailer: Mailer;
  /** The tables in memory, with their bounds. */
  readonly tables: readonly BoundedTable[];
  /** The mails and text messages that were written to files instead of being sent. */
  readonly outbox: Pick<Outbox, 'newest'>;
  /** Returns the counts and limits of rows that unauthenticated clients caused. */
  rowsOfStrangers(): readonly RowCounterStats[];
  /** Counts the rows that are there, and gives stored backup codes their key. The serving process calls it. */
  restore(): Promise<void>;
  close(): Promise<void>;
}

const accountSubjectsMax = 16_384;

export function openSignon(options: SignonOptions): Signon {
  const { store, clock, random, log, masterKey, baseUrl, shares = localLimits } = options;
  const service = new URL(baseUrl).hostname;
  const pages = pageLinks(baseUrl);
  const people = openPeople(store);
  const links = createLinks(options);
  const attempts = createAttempts({ clock, shares });
  const pendingAccounts = createPendingCounter({ clock });
  const pacing =
    options.isPaced === true ? createPacing(clock, pacedNetworksMax, shares) : noPacing;
  const ownLog = createSecurityLog(options);
  const securityLog = options.signInLog?.listenTo(ownLog) ?? ownLog;
  const outbox = openOutbox({
    folder: `${options.dataDir}/outbox`,
    from: options.mailFrom,
    clock,
    random,
    log,
    isErased: (accountId) => isErased(store, accountId),
    onMail: options.onMail,
  });
  const letterhead = mailSender(options);
  const mailBudget = createMailBudget(shares);
  const mailer = createMailer({
    transport:
      options.mailTransport ??
      (options.smtpUrl === undefined
        ? outbox.mail
        : smtpTransport(options.smtpUrl, options.mailFrom, letterhead)),
    sender: letterhead,
    clock,
    log,
    limit: mailBudget,
  });
  const isKeptHere = options.mailTransport === undefined && options.smtpUrl === undefined;
  const passwords = createPasswords({
    random,
    ...(options.argon2 === undefined ? {} : { parameters: options.argon2 }),
  });
  const strength = options.strength ?? openPasswordStrength();
  const { pwnedRangeUrl: rangeUrl } = options;
  const breached = rangeUrl === undefined ? undefined : createBreachedPasswords({ rangeUrl, log });
  const newPasswords = createNewPasswords({
    passwords,
    strength,
    breached,
    service: options.siteName === undefined ? service : [service, options.siteName],
  });
  const sessions = createSessions({
    store,
    clock,
    random,
    people,
    ...(options.factorDemand === undefined ? {} : { factorDemand: options.factorDemand }),
  });
  const notices = createNotices({ ...options, mailer, pages });
  const changes = createAccountChanges({
    store,
    clock,
    random,
    people,
    sessions,
    securityLog,
    notices,
  });
  const secondFactors = createSecondFactors({
    store,
    clock,
    random,
    masterKey,
    service,
    changes,
  });
  const extraRows = options.extraRows ?? noExtraRows;
  const parts = { store, clock, random, log, people, links, mailer, pages, securityLog, extraRows };
  const signIn = createSignIn({
    ...parts,
    shares,
    masterKey,
    passwords,
    sessions,
    attempts,
    secondFactors,
  });
  const library = openPasskeyLibrary();
  const ceremonies = createPasskeyCeremonies({ ...options, library });
  const sender =
    options.messageSender ??
    (options.smsWebhookUrl === undefined
      ? outboxMessages(outbox)
      : webhookMessages(options.smsWebhookUrl, log));
  const { deletion, erasures } = openErasures(options, {
    sessions,
    secondFactors,
    outbox,
    deletionNotice: isKeptHere
      ? undefined
      : (email, language) => mailer.deliver(email, language, 'accountDeleted', {}),
  });
  const phoneCodes = createPhoneCodes({
    ...parts,
    masterKey,
    shares,
    sender,
    bounds: options.texts ?? { countries: ['*'], perDay: 200 },
    service,
  });
  const emailChanges = createClientLimits(
    { emailChange: emailChangeLimit },
    shares.room('changes of addresses', accountSubjectsMax),
  );
  const networks = () => pacing.stats().networks;
  const keptForms = createKeptForms(options);
  const registeredLately = createRegisteredLately(clock);
  const tables = [
    ...attempts.tables,
    ...passwords.tables,
    ...(strength.table === undefined ? [] : [strength.table]),
    library.table,
    ...(isKeptHere ? [outbox.table] : []),
    ...signIn.tables,
    phoneCodes.table,
    changes.table,
    mailBudget.table,
    emailChanges.table('email_change_limits'),
    keptForms.table,
    registeredLately.table,
    { name: 'registration_networks', used: networks, limit: pacedNetworksMax },
  ];
  return {
    people,
    sessions,
    secondFactors,
    securityLog,
    changes,
    notices,
    mailer,
    outbox,
    pacing,
    registration: createRegistration({
      ...parts,
      pacing,
      newPasswords,
      passwords,
      attempts,
      sessions,
      ceremonies,
      pendingAccounts,
      registeredLately,
    }),
    keptForms,
    signIn,
    passkeys: createPasskeys({ ...parts, changes, sessions, signIn, ceremonies }),
    phoneCodes,
    emailChange: createEmailChange({ ...parts, changes, limits: emailChanges }),
    tables,
    deletion,
    erasures,
    recovery: createRecovery({
      ...parts,
      newPasswords,
      attempts,
      changes,
      notices,
      hasReviewable: (person) => hasReviewable(store, person),
    }),
    rowsOfStrangers: () => [...links.stats(), pendingAccounts.stats()],
    async restore() {
      await links.restore();
      await restorePending(store, pendingAccounts);
      await secondFactors.restore();
    },
    async close() {
      await Promise.all([erasures, mailer, notices, strength, library].map((part) => part.close()));
    },
  };
}

/** The erasures that one node makes for all are committed under its lease; those that a person asks for, on any node. */
function openErasures(
  options: SignonOptions,
  parts: Omit<PersonalDataSources, 'store' | 'securityLog'> & {
    deletionNotice: DeletionNotice | undefined;
  },
): Pick<Signon, 'deletion' | 'erasures'> {
  const { maintenance, personalData, log } = options;
  function over(store: Store, told?: Store): Deletion {
    const securityLog = createSecurityLog({ ...options, store });
    return createDeletion({
      ...options,
      store,
      told,
      deletionNotice: parts.deletionNotice,
      onNoticeDropped: noDeletionNotice(log),
      data: [
        ...(personalData?.(store) ?? []),
        ...ownPersonalData({ ...parts, store, securityLog }),
      ],
    });
  }
  const deletion = over(options.store);
  const { begin } = deletion;
  const eraser = maintenance?.isShared === true ? over(maintenance.store, options.store) : deletion;
  return { deletion, erasures: createErasures({ ...options, deletion: { ...eraser, begin } }) };
}
