/** The protection of an account: password, second factor, passkeys, sessions, and what happened. */

import { badge } from '../../../web/components/badge.ts';
import { button } from '../../../web/components/button.ts';
import { card } from '../../../web/components/card.ts';
import { field } from '../../../web/components/field.ts';
import { actionButton, form } from '../../../web/components/form.ts';
import { notice } from '../../../web/components/notice.ts';
import { table } from '../../../web/components/table.ts';
import { type Html, html } from '../../../web/html.ts';
import { type Format, formatFor } from '../../../web/layout/format.ts';
import type { PageFrame } from '../../../web/layout/layout.ts';
import { accountField, passkeyOutcome } from '../../people/pages/register.page.ts';
import type { SecondFactorState } from '../../proofs/factors/second-factor-rows.ts';
import type { PasskeyInfo } from '../../proofs/passkeys.ts';
import { passwordLength } from '../../proofs/password/passwords.ts';
import { onwardHref } from '../../sessions/onward.page.ts';
import type { SecurityLogEntry } from '../../sessions/security-log.ts';
import type { SessionInfo } from '../../sessions/session-records.ts';
import { frameText } from '../../words/words.ts';
import { type AccountView, accountPage, freshWanted, sectionPaths } from './parts.page.ts';
import type { AccountCatalogue } from './words.ts';

export interface SecurityView extends AccountView {
  /** The account's mail address. */
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
  readonly sessions: readonly SessionInfo[];
  readonly log: readonly SecurityLogEntry[];
}

export function securityPage(frame: PageFrame, view: SecurityView): string {
  const text = frameText(frame).account;
  const format = formatFor(frame.language);
  return accountPage(frame, view, {
    section: 'security',
    lede: text.security.lede,
    script: 'account.js',
    body: html`
      ${view.isDue && notice({ tone: 'warning', title: text.security.dueTitle, body: text.security.dueText, alert: true })}
      ${!view.fresh && freshWanted(text, onwardHref(sectionPaths.security, { back: view.returnTo }))}
      ${!view.isDue && passwordCard(text, format, view)}
      ${secondFactorCard(text, format, view)}
      ${passkeyCard(text, format, view)}
      ${!view.isDue && sessionCard(text, format, view)}
      ${!view.isDue && logCard(text, format, view)}`,
  });
}

function passwordCard(account: AccountCatalogue, format: Format, view: SecurityView): Html {
  const text = account.security;
  const { passwordChangedAt: at, csrf } = view;
  return card({
    title: text.passwordTitle,
    icon: 'key',
    body: html`<p>${at === 0 ? text.passwordNone : text.passwordSet(format.moment(at))}</p>
      ${
        view.fresh &&
        form({
          csrf,
          action: '/account/security/password',
          body: html`${accountField(view.account)}${field({
            id: 'password',
            name: 'password',
            type: 'password',
            label: text.passwordNew,
            hint: text.passwordHint,
            autocomplete: 'new-password',
            required: true,
            maxLength: passwordLength.max,
            ...(view.passwordError === undefined
              ? {}
              : { error: text.passwordErrors[view.passwordError] }),
          })}<p>${button({ label: text.passwordChange, kind: 'secondary' })}</p>`,
        })
      }`,
  });
}

function secondFactorCard(account: AccountCatalogue, format: Format, view: SecurityView): Html {
  const text = account.security;
  const { enabled, enabledAt, backupCodesLeft: left } = view.secondFactor;
  const act = (name: string, label: string, kind: 'primary' | 'secondary' | 'danger') =>
    actionButton({
      csrf: view.csrf,
      action: onwardHref(`/account/security/totp/${name}`, { back: view.returnTo }),
      fields: view.returnTo === undefined ? {} : { return: view.returnTo },
      label,
      kind,
    });
  return card({
    title: text.totpTitle,
    icon: 'shield',
    body: html`<p>${enabled ? text.totpOn(format.moment(enabledAt)) : text.totpOff}
        ${enabled && ` ${text.totpBackupLeft(left, format.number(left))}`}</p>
      ${
        view.fresh &&
        html`<div class="row-actions">${
          enabled
            ? html`${act('renew', text.totpRenew, 'secondary')}${act('disable', text.totpDisable, 'danger')}`
            : act('begin', text.totpBegin, 'secondary')
        }</div>`
      }`,
  });
}

function passkeyCard(account: AccountCatalogue, format: Format, view: SecurityView): Html {
  const text = account.security;
  const { passkeys, csrf, fresh } = view;
  const columns = text.passkeyColumns;
  return card({
    title: text.passkeyTitle,
    icon: 'key',
    body: html`<p class="card-note">${text.passkeyText}</p>
      ${
        passkeys.length === 0
          ? html`<p>${text.passkeyNone}</p>`
          : table({
              caption: text.passkeyTitle,
              stack: true,
              columns: [columns.name, columns.created, columns.used, columns.actions].map(
                (title) => ({ title }),
              ),
              rows: passkeys.map(({ id, name, createdAt, lastUsedAt }) => [
                name === '' ? text.passkeyUnnamed : name,
                format.day(createdAt),
                format.day(lastUsedAt),
                fresh
                  ? actionButton({
                      csrf,
                      action: '/account/security/passkeys/remove',
                      fields: { id },
                      label: text.passkeyRemove,
                      kind: 'danger',
                    })
                  : '–',
              ]),
            })
      }
      ${fresh && passkeyForm(text, csrf, view.returnTo)}`,
  });
}

/** The page's script sends this form: the browser has to be asked for the passkey. */
function passkeyForm(
  text: AccountCatalogue['security'],
  csrf: string,
  returnTo: string | undefined,
): Html {
  return html`<form class="form" id="passkey-form" method="post" data-passkey="register" data-csrf=${csrf} data-return=${returnTo} hidden>
    ${field({
      id: 'passkey-name',
      name: 'name',
      label: text.passkeyName,
      hint: text.passkeyNameHint,
      maxLength: 60,
      autocomplete: 'off',
    })}
    <p>${button({ label: text.passkeyAdd, kind: 'secondary' })}</p>
    ${passkeyOutcome({ failed: text.passkeyFailed, causes: text.passkeyErrors })}
  </form><p class="card-note" data-passkey-none>${text.passkeyNoScript}</p>`;
}

function sessionCard(account: AccountCatalogue, format: Format, view: SecurityView): Html {
  const text = account.security;
  const { csrf, sessions } = view;
  const columns = text.sessionsColumns;
  return card({
    title: text.sessionsTitle,
    icon: 'list',
    body: html`${table({
      caption: text.sessionsTitle,
      stack: true,
      columns: [columns.agent, columns.country, columns.seen, columns.actions].map((title) => ({
        title,
      })),
      rows: sessions.map((session) => [
        html`${session.agent === '' ? text.unknownAgent : session.agent}
          <span class="fact-note fact-below">${text.sessionMethods[session.method]}</span>`,
        format.country(session.country) ?? text.unknownCountry,
        format.moment(session.lastSeenAt),
        session.current
          ? badge({ label: text.sessionThis, tone: 'accent' })
          : actionButton({
              csrf,
              action: '/account/security/sessions/end',
              fields: { id: session.id },
              label: text.sessionEnd,
              kind: 'secondary',
            }),
      ]),
    })}
    ${
      sessions.length > 1 &&
      actionButton({
        csrf,
        action: '/account/security/sessions/end-others',
        fields: {},
        label: text.sessionsEndOthers,
        kind: 'danger',
      })
    }`,
  });
}

function logCard(account: AccountCatalogue, format: Format, view: SecurityView): Html {
  const text = account.security;
  const { at, event, agent, country } = text.logColumns;
  return card({
    title: text.logTitle,
    icon: 'clock',
    body:
      view.log.length === 0
        ? html`<p>${text.logEmpty}</p>`
        : html`<p class="card-note">${text.logText}</p>
          ${table({
            caption: text.logTitle,
            columns: [at, event, agent, country].map((title) => ({ title })),
            rows: view.log.map((entry) => [
              format.moment(entry.at),
              text.events[entry.event],
              entry.agent === '' ? text.unknownAgent : entry.agent,
              format.country(entry.country) ?? text.unknownCountry,
            ]),
            scroll: true,
          })}`,
  });
}
