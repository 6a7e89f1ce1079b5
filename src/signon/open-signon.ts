/**
 * Sign-on as one object: makes the parts from what the composition root has and hands each the
 * little that it needs. No HTML and no HTTP here. One instance in a process: attempts and the mail
 * limit are in its memory.
 */

import type { MasterKey } from '../access/keys/master-key.ts';
import { createClientLimits } from '../access/quota/client-limits.ts';
import { type DistributedLimits, localLimits } from '../access/quota/distributed-limits.ts';
import type { Config } from '../config.ts';
import type { PersonalData } from '../contracts/personal-data.ts';
import type { Clock } from '../core/clock.ts';
import type { Log } from '../core/log.ts';
import type { Random } from '../core/random.ts';
import type { ErasedList } from '../storage/backup/erased.ts';
import type { Maintenance } from '../storage/maintenance.ts';
import type { Store } from '../storage/store.ts';
import { type Mail, mailSender } from './mail/mail-format.ts';
import { createMailBudget, createMailer, type MailTransport } from './mail/mailer.ts';
import { createNotices } from './mail/notices.ts';
import { noDeletionNotice, type Outbox, openOutbox } from './mail/outbox.ts';
import { smtpTransport } from './mail/smtp.ts';
import {
  createAccountChanges,
  createEmailChange,
  emailChangeLimit,
} from './people/account-changes.ts';
import {
  createDeletion,
  createErasures,
  type Deletion,
  type DeletionNotice,
} from './people/deletion.ts';
import { createInvitations } from './people/invitations.ts';
import { createLinks, pageLinks } from './people/links.ts';
import { createPacing, noPacing, pacedNetworksMax } from './people/pacing.ts';
import { createPendingCounter, restorePending } from './people/pending.ts';
import { signonPersonalData } from './people/personal-data.ts';
import { createProfiles } from './people/profile/profile-store.ts';
import { createRecovery } from './people/recovery.ts';
import {
  createKeptForms,
  createRegisteredLately,
  createRegistration,
} from './people/registration.ts';
import { hasReviewable } from './people/review.ts';
import { isErased, openPeople } from './people.ts';
import { createAttempts } from './proofs/attempts.ts';
import {
  createBreachedPasswords,
  createNewPasswords,
  openPasswordStrength,
  type PasswordStrength,
} from './proofs/new-password.ts';
import { createPasskeyCeremonies, openPasskeyLibrary } from './proofs/passkey-ceremonies.ts';
import { createPasskeys } from './proofs/passkeys.ts';
import { type Argon2Parameters, createPasswords } from './proofs/passwords.ts';
import {
  createPhoneCodes,
  type MessageSender,
  outboxMessages,
  webhookMessages,
} from './proofs/phone.ts';
import { createSecondFactors } from './proofs/second-factors.ts';
import { createTrustedBrowsers } from './proofs/trusted-browsers.ts';
import { createSecurityLog } from './sessions/security-log.ts';
import { createSessions } from './sessions/sessions.ts';
import { createSignIn } from './sessions/sign-in.ts';
import type { SignInLog } from './sessions/sign-in-log.ts';

export interface SignonOptions {
  readonly store: Store;
  readonly maintenance?: Maintenance;
  /** The limits that several nodes count together. */
  readonly distributedLimits?: Pick<DistributedLimits, 'room' | 'replicatedOperations'> | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly masterKey: MasterKey;
  readonly config: Pick<Config, 'baseUrl' | 'dataDir' | 'mailFrom'> & Partial<SignonSettings>;
  /** Also records the events of the accounts' security logs, for operators. */
  readonly signInLog?: Pick<SignInLog, 'listenTo'>;
  /** The personal data of other wings. */
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

/** The settings that may be left out, in tests. */
type SignonSettings = Pick<
  Config,
  | 'clientLimits'
  | 'pwnedRangeUrl'
  | 'registrationDomains'
  | 'requireSecondFactor'
  | 'trustedBrowsers'
  | 'siteContact'
  | 'siteAccent'
  | 'siteLogo'
  | 'siteName'
  | 'smsCountries'
  | 'smsPerDay'
  | 'smsWebhookUrl'
  | 'smtpUrl'
>;

const accountSubjectsMax = 16_384;

export function openSignon(options: SignonOptions) {
  const { store, clock, random, log, masterKey, config, distributedLimits = localLimits } = options;
  const { baseUrl, smtpUrl, pwnedRangeUrl: rangeUrl } = config;
  const service = new URL(baseUrl).hostname;
  const pages = pageLinks(baseUrl);
  const people = openPeople(store);
  const profiles = createProfiles(options);
  const links = createLinks(options);
  const attempts = createAttempts({ clock, distributedLimits });
  const pendingAccounts = createPendingCounter({ clock });
  // Registration asks more of a network that registers many accounts.
  const pacing =
    config.clientLimits === true
      ? createPacing(clock, pacedNetworksMax, distributedLimits)
      : noPacing;
  const ownLog = createSecurityLog(options);
  const securityLog = options.signInLog?.listenTo(ownLog) ?? ownLog;
  const letterhead = mailSender(config);
  const outbox = openOutbox({
    folder: `${config.dataDir}/outbox`,
    from: config.mailFrom,
    sender: letterhead,
    clock,
    random,
    log,
    isErased: (accountId) => isErased(store, accountId),
    onMail: options.onMail,
  });
  const mailBudget = createMailBudget(distributedLimits);
  const mailer = createMailer({
    transport:
      options.mailTransport ??
      (smtpUrl === undefined ? outbox.mail : smtpTransport(smtpUrl, config.mailFrom, letterhead)),
    sender: letterhead,
    clock,
    log,
    limit: mailBudget,
  });
  const isKeptHere = options.mailTransport === undefined && smtpUrl === undefined;
  const passwords = createPasswords({
    random,
    parameters: options.argon2,
  });
  const strength = options.strength ?? openPasswordStrength();
  const breached = rangeUrl === undefined ? undefined : createBreachedPasswords({ rangeUrl, log });
  const newPasswords = createNewPasswords({
    passwords,
    strength,
    breached,
    service: config.siteName === undefined ? service : [service, config.siteName],
  });
  const sessions = createSessions({
    store,
    clock,
    random,
    people,
    factorDemand: config.requireSecondFactor,
  });
  const notices = createNotices({ ...options, mailer, pages });
  const base = { store, clock, random, log, masterKey, distributedLimits, people, profiles, links };
  const posting = { ...base, mailer, pages, securityLog };
  const changes = createAccountChanges({ ...posting, sessions, notices });
  const { name } = letterhead;
  const secondFactors = createSecondFactors({ ...base, name, changes });
  const trustedBrowsers = createTrustedBrowsers({ ...base, isOn: config.trustedBrowsers === true });
  const proving = { secondFactors, trustedBrowsers, changes };
  const parts = { ...posting, passwords, newPasswords, sessions, attempts, ...proving };
  const signIn = createSignIn(parts);
  const library = openPasskeyLibrary();
  const ceremonies = createPasskeyCeremonies({ ...base, baseUrl, name, library });
  const { smsWebhookUrl, smsCountries: countries = ['*'], smsPerDay: perDay = 200 } = config;
  const sender =
    options.messageSender ??
    (smsWebhookUrl === undefined ? outboxMessages(outbox) : webhookMessages(smsWebhookUrl, log));
  const { deletion, erasures } = openErasures(
    options,
    outbox,
    isKeptHere
      ? undefined
      : (email, language) => mailer.deliver(email, language, 'accountDeleted', {}),
  );
  const bounds = { countries, perDay };
  const phoneCodes = createPhoneCodes({ ...parts, sender, bounds, service: name });
  const emailChanges = createClientLimits(
    { emailChange: emailChangeLimit },
    distributedLimits.room('changes of addresses', accountSubjectsMax),
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
    profiles,
    sessions,
    secondFactors,
    trustedBrowsers,
    securityLog,
    changes,
    /** Run its `resume` at the start. */
    notices,
    mailer,
    /** The mails and text messages that were written to files instead of being sent. */
    outbox,
    pacing,
    registration: createRegistration({
      ...parts,
      pacing,
      ceremonies,
      pendingAccounts,
      registeredLately,
      domains: config.registrationDomains ?? [],
    }),
    invitations: createInvitations({ ...parts, pendingAccounts }),
    keptForms,
    signIn,
    passkeys: createPasskeys({ ...parts, signIn, ceremonies }),
    phoneCodes,
    emailChange: createEmailChange({ ...parts, limits: emailChanges }),
    tables,
    deletion,
    /** Run its `resume` at the start. */
    erasures,
    recovery: createRecovery({
      ...parts,
      notices,
      hasReviewable: (person) => hasReviewable(store, person),
    }),
    /** Returns the counts and limits of rows that unauthenticated clients caused. */
    unauthenticatedRows: () => [...links.stats(), pendingAccounts.stats()],
    /** Counts the rows that are there. The serving process calls it. */
    async restore(): Promise<void> {
      await links.restore();
      await restorePending(store, pendingAccounts);
    },
    async close(): Promise<void> {
      await Promise.all([erasures, mailer, notices, strength, library].map((part) => part.close()));
    },
  };
}

export type Signon = ReturnType<typeof openSignon>;

/**
 * The erasures that one node makes for all are committed under its lease; those that a person asks for, on any
 * node.
 */
function openErasures(
  options: SignonOptions,
  outbox: Outbox,
  deletionNotice: DeletionNotice | undefined,
) {
  const { maintenance, personalData, log } = options;
  function over(store: Store, noticeStore?: Store): Deletion {
    return createDeletion({
      ...options,
      store,
      noticeStore,
      deletionNotice,
      onNoticeDropped: noDeletionNotice(log),
      data: [
        ...signonPersonalData({ ...options, store }, outbox),
        ...(personalData?.(store) ?? []),
      ],
    });
  }
  const deletion = over(options.store);
  const { begin } = deletion;
  const eraser = maintenance?.isShared === true ? over(maintenance.store, options.store) : deletion;
  return { deletion, erasures: createErasures({ ...options, deletion: { ...eraser, begin } }) };
}
