/**
 * The protection of an account: password, second factor, passkeys, sessions, and what happened; the
 * page that sets up the second factor, with secret and backup codes shown once.
 */

import { create } from 'qrcode';
import { Card, CodeBlock, Fold, Folds, Notice } from '../../web/components/card.tsx';
import {
  ActionButton,
  CodeField,
  Field,
  Form,
  Hidden,
  LinkButton,
} from '../../web/components/form.tsx';
import { Badge, Table } from '../../web/components/table.tsx';
import type { Html } from '../../web/html.ts';
import { type Format, formatFor } from '../../web/layout/format.ts';
import type { PageFrame } from '../../web/layout/layout.tsx';
import { accountField, passkeyOutcome } from '../people/register.page.tsx';
import type { SecondFactorState } from '../proofs/factor-rows.ts';
import type { PasskeyInfo } from '../proofs/passkeys.ts';
import { passwordLength } from '../proofs/passwords.ts';
import type { TrustedBrowser } from '../proofs/trusted-browsers.ts';
import { onwardHref } from '../sessions/parts.page.tsx';
import type { SecurityLogEntry } from '../sessions/security-log.ts';
import type { SessionInfo } from '../sessions/sessions.ts';
import { frameText } from '../words.ts';
import {
  type AccountView,
  accountPage,
  recentProofNotice,
  Submit,
  sectionPaths,
} from './account.page.tsx';
import type { AccountCatalogue } from './words.ts';

export interface SecurityView extends AccountView {
  readonly account: string;
  readonly fresh: boolean;
  /** A second factor is demanded: nothing else may be done yet. */
  readonly isDue: boolean;
  /** The path to which the person was going when the factor was demanded. */
  readonly returnTo: string | undefined;
  /** Ms since 1970; 0: there is no password. */
  readonly passwordChangedAt: number;
  readonly passwordError?: keyof AccountCatalogue['security']['passwordErrors'] | undefined;
  readonly secondFactor: SecondFactorState;
  readonly passkeys: readonly PasskeyInfo[];
  /** The user handle of passkeys that are made here, base64url. */
  readonly ownHandle: string;
  readonly sessions: readonly SessionInfo[];
  readonly trusted: readonly TrustedBrowser[];
  readonly log: readonly SecurityLogEntry[];
}

export function securityPage(frame: PageFrame, view: SecurityView): string {
  const text = frameText(frame).account;
  const format = formatFor(frame.language);
  return accountPage(frame, view, {
    section: 'security',
    lede: text.security.lede,
    script: 'account.js',
    body: (
      <>
        {view.isDue && (
          <Notice tone="warning" title={text.security.dueTitle} alert>
            {text.security.dueText}
          </Notice>
        )}
        {!view.fresh &&
          recentProofNotice(text, onwardHref(sectionPaths.security, { back: view.returnTo }))}
        {passkeyCard(text, format, view)}
        <Folds>
          {secondFactorFold(text, format, view)}
          {!view.isDue && (
            <>
              {passwordFold(text, format, view)}
              {sessionFold(text, format, view)}
              {view.trusted.length > 0 && trustFold(text, format, view)}
              {logFold(text, format, view)}
            </>
          )}
        </Folds>
      </>
    ),
  });
}

function passwordFold(account: AccountCatalogue, format: Format, view: SecurityView): Html {
  const text = account.security;
  const { passwordChangedAt: at, csrf } = view;
  return (
    <Fold
      title={text.passwordTitle}
      icon="key"
      aside={
        at === 0 ? (
          text.passwordUnset
        ) : (
          <>
            {text.changed} {format.near(at, view.now)}
          </>
        )
      }
      open={view.passwordError !== undefined}
    >
      <p>{at === 0 ? text.passwordNone : text.passwordSet(format.moment(at))}</p>
      {view.fresh && (
        <Form csrf={csrf} action="/account/security/password">
          {accountField(view.account)}
          <Field
            id="password"
            name="password"
            type="password"
            label={text.passwordNew}
            hint={text.passwordHint}
            autocomplete="new-password"
            required
            maxLength={passwordLength.max}
            error={
              view.passwordError === undefined ? undefined : text.passwordErrors[view.passwordError]
            }
          />
          <Submit label={text.passwordChange} kind="secondary" />
        </Form>
      )}
    </Fold>
  );
}

function secondFactorFold(account: AccountCatalogue, format: Format, view: SecurityView): Html {
  const text = account.security;
  const { enabled, enabledAt, backupCodesLeft: left } = view.secondFactor;
  const act = (name: string, label: string, kind: 'primary' | 'secondary' | 'danger') => (
    <ActionButton
      csrf={view.csrf}
      action={onwardHref(`/account/security/totp/${name}`, { back: view.returnTo })}
      fields={view.returnTo === undefined ? {} : { return: view.returnTo }}
      label={label}
      kind={kind}
    />
  );
  return (
    <Fold title={text.totpTitle} icon="shield" aside={text.totpState(enabled)} open={view.isDue}>
      <p>
        {enabled ? text.totpOn(format.moment(enabledAt)) : text.totpOff}
        {enabled && ` ${text.totpBackupLeft(left, format.number(left))}`}
      </p>
      {view.fresh && (
        <div class="row-actions">
          {enabled ? (
            <>
              {act('renew', text.totpRenew, 'secondary')}
              {act('disable', text.totpDisable, 'danger')}
            </>
          ) : (
            act('begin', text.totpBegin, 'secondary')
          )}
        </div>
      )}
    </Fold>
  );
}

function passkeyCard(account: AccountCatalogue, format: Format, view: SecurityView): Html {
  const text = account.security;
  const { passkeys, csrf, fresh } = view;
  const columns = text.passkeyColumns;
  return (
    <Card title={text.passkeyTitle} icon="key">
      <p class="card-note">{text.passkeyText}</p>
      {passkeys.length === 0 ? (
        <p>{text.passkeyNone}</p>
      ) : (
        <Table
          caption={text.passkeyTitle}
          stack
          columns={[columns.name, columns.created, columns.used, columns.actions]}
          rows={passkeys.map(({ id, name, createdAt, lastUsedAt }) => [
            name === '' ? text.passkeyUnnamed : name,
            format.day(createdAt),
            format.day(lastUsedAt),
            fresh ? (
              <ActionButton
                csrf={csrf}
                action="/account/security/passkeys/remove"
                fields={{ id }}
                label={text.passkeyRemove}
                kind="danger"
              />
            ) : (
              '–'
            ),
          ])}
        />
      )}
      {fresh && passkeyForm(text, view)}
      <div data-passkeys-accepted={JSON.stringify(acceptedPasskeys(view))} hidden />
    </Card>
  );
}

/**
 * Returns what the page's script tells the browser (WebAuthn Level 3, section 5.1.10): the passkeys that are
 * accepted, by user handle, and the name that they belong to. A passkey that was made before there was an
 * account has a handle of its own.
 */
function acceptedPasskeys({ account, ownHandle, passkeys }: SecurityView) {
  const handles = new Set([ownHandle, ...passkeys.map(({ handle }) => handle)]);
  const accepted = [...handles].map((userId) => ({
    userId,
    ids: passkeys.filter(({ handle }) => handle === userId).map(({ id }) => id),
  }));
  return { name: account, accepted };
}

/** The page's script sends this form: the browser has to be asked for the passkey. */
function passkeyForm(text: AccountCatalogue['security'], view: SecurityView): Html {
  const { csrf, returnTo, passkeys } = view;
  return (
    <>
      <form
        class="form"
        id="passkey-form"
        method="post"
        data-passkey="register"
        data-csrf={csrf}
        data-return={returnTo}
        hidden
      >
        <Field
          id="passkey-name"
          name="name"
          label={text.passkeyName}
          hint={text.passkeyNameHint}
          maxLength={60}
          autocomplete="off"
        />
        <Submit label={text.passkeyAdd} kind={passkeys.length === 0 ? 'primary' : 'secondary'} />
        {passkeyOutcome({ failed: text.passkeyFailed, causes: text.passkeyErrors })}
      </form>
      <p class="card-note" data-passkey-none>
        {text.passkeyNoScript}
      </p>
    </>
  );
}

/** More sessions than these are shown when somebody asks for them. */
const openMax = 2;

function sessionFold(account: AccountCatalogue, format: Format, view: SecurityView): Html {
  const text = account.security;
  const { csrf, sessions } = view;
  const columns = text.sessionsColumns;
  return (
    <Fold
      title={text.sessionsTitle}
      icon="list"
      aside={format.number(sessions.length)}
      open={sessions.length <= openMax}
    >
      <Table
        caption={text.sessionsTitle}
        stack
        columns={[columns.agent, columns.country, columns.seen, columns.actions]}
        rows={sessions.map((session) => [
          <>
            {session.agent === '' ? text.unknownAgent : session.agent}
            <span class="fact-note fact-below">{text.sessionMethods[session.method]}</span>
          </>,
          format.country(session.country) ?? text.unknownCountry,
          format.near(session.lastSeenAt, view.now),
          session.current ? (
            <Badge label={text.sessionThis} tone="accent" />
          ) : (
            <ActionButton
              csrf={csrf}
              action="/account/security/sessions/end"
              fields={{ id: session.id }}
              label={text.sessionEnd}
              kind="secondary"
            />
          ),
        ])}
      />
      {sessions.length > 1 && (
        <>
          <p class="card-note">{text.sessionsNote}</p>
          <ActionButton
            csrf={csrf}
            action="/account/security/sessions/end-others"
            fields={{}}
            label={text.sessionsEndOthers}
            kind="danger"
          />
        </>
      )}
    </Fold>
  );
}

function trustFold(account: AccountCatalogue, format: Format, view: SecurityView): Html {
  const text = account.security;
  const { agent, country, since, until, actions } = text.trustColumns;
  return (
    <Fold title={text.trustTitle} icon="key" aside={format.number(view.trusted.length)}>
      <p class="card-note">{text.trustText}</p>
      <Table
        caption={text.trustTitle}
        stack
        columns={[agent, country, since, until, actions]}
        rows={view.trusted.map((browser) => [
          browser.agent === '' ? text.unknownAgent : browser.agent,
          format.country(browser.country) ?? text.unknownCountry,
          format.near(browser.since, view.now),
          format.near(browser.endsAt, view.now),
          <ActionButton
            csrf={view.csrf}
            action="/account/security/trusted/end"
            fields={{ id: browser.id }}
            label={text.trustEnd}
            kind="secondary"
          />,
        ])}
      />
    </Fold>
  );
}

function logFold(account: AccountCatalogue, format: Format, view: SecurityView): Html {
  const text = account.security;
  const { at, event, agent, country } = text.logColumns;
  return (
    <Fold
      title={text.logTitle}
      icon="clock"
      aside={view.log[0] && format.near(view.log[0].at, view.now)}
    >
      {view.log.length === 0 ? (
        <p>{text.logEmpty}</p>
      ) : (
        <>
          <p class="card-note">{text.logText}</p>
          <Table
            caption={text.logTitle}
            columns={[at, event, agent, country]}
            rows={view.log.map((entry) => [
              format.time(entry.at),
              text.events[entry.event],
              entry.agent === '' ? text.unknownAgent : entry.agent,
              format.country(entry.country) ?? text.unknownCountry,
            ])}
            scroll
          />
        </>
      )}
    </Fold>
  );
}

interface EnrolmentView extends AccountView {
  /** The secret in base32. */
  readonly secret: string;
  readonly uri: string;
  readonly codeError: boolean;
  /** The path to which the person goes afterwards; undefined: /account/security. */
  readonly returnTo: string | undefined;
}

export function enrolmentPage(frame: PageFrame, view: EnrolmentView): string {
  const all = frameText(frame);
  const text = all.account.security;
  return accountPage(frame, view, {
    section: 'security',
    lede: text.totpTitle,
    body: (
      <Card title={text.totpTitle} icon="shield">
        <p>{text.totpScan}</p>
        {qrCode(view.uri, text.totpQr)}
        <CodeBlock
          id="totp-secret"
          title={text.totpSecret}
          code={view.secret.replace(/.{4}(?=.)/g, '$& ')}
          text={all}
        />
        <Form
          csrf={view.csrf}
          action={onwardHref('/account/security/totp/enable', { back: view.returnTo })}
        >
          {view.returnTo && <Hidden name="return" value={view.returnTo} />}
          <CodeField
            label={text.totpCode}
            hint={text.totpCodeHint}
            inputMode="numeric"
            maxLength={12}
            required
            error={view.codeError ? text.totpCodeError : undefined}
          />
          <Submit label={text.totpEnable} />
        </Form>
      </Card>
    ),
  });
}

interface BackupCodesView extends AccountView {
  readonly codes: readonly string[];
  readonly returnTo?: string | undefined;
}

export function backupCodesPage(frame: PageFrame, view: BackupCodesView): string {
  const all = frameText(frame);
  const text = all.account.security;
  return accountPage(frame, view, {
    section: 'security',
    lede: text.totpTitle,
    body: (
      <Card title={text.backupTitle} icon="key">
        <Notice tone="warning">{text.backupText}</Notice>
        <CodeBlock
          id="backup-codes"
          title={text.backupTitle}
          code={view.codes.join('\n')}
          text={all}
        />
        <p>
          <LinkButton label={text.backupDone} href={view.returnTo ?? sectionPaths.security} />
        </p>
      </Card>
    ),
  });
}

/** The border that readers need, in modules. */
const quiet = 4;

/**
 * Returns a QR code as inline SVG: one path, dark on light in both colour schemes, as readers expect it.
 * @param label what a screen reader says of it
 */
function qrCode(content: string, label: string): Html {
  const { modules } = create(content, { errorCorrectionLevel: 'M' });
  const { size } = modules;
  let path = '';
  for (let y = 0; y < size; y++) {
    for (let x = 0; x < size; x++) {
      if (modules.get(y, x)) path += `M${x + quiet} ${y + quiet}h1v1h-1z`;
    }
  }
  const side = size + 2 * quiet;
  return (
    <svg
      class="qr"
      viewBox={`0 0 ${side} ${side}`}
      width="220"
      height="220"
      role="img"
      aria-label={label}
      shape-rendering="crispEdges"
    >
      <rect class="qr-ground" width={side} height={side} />
      <path class="qr-modules" d={path} />
    </svg>
  );
}
