/**
 * The common parts of the account pages: the frame with its navigation, and the field for a file.
 */

import { LinkButton } from '../../web/components/button.tsx';
import { Notice } from '../../web/components/notice.tsx';
import { classes, type Html } from '../../web/html.ts';
import type { PageFrame } from '../../web/layout/layout.tsx';
import { sectionPage } from '../../web/layout/section-page.tsx';
import { frameText } from '../words.ts';
import type { AccountCatalogue } from './words.ts';

export type AccountSection = keyof AccountCatalogue['sections'];
export type DoneName = keyof AccountCatalogue['done'];

export const sectionPaths: Readonly<Record<AccountSection, string>> = {
  profile: '/account',
  keys: '/account/keys',
  reports: '/account/reports',
  webhooks: '/account/webhooks',
  security: '/account/security',
  sites: '/account/sites',
  data: '/account/data',
};

/** The values that every account page shows. */
export interface AccountView {
  /** The value of the hidden field of every form. */
  readonly csrf: string;
  /** The time of the request, ms since 1970. */
  readonly now: number;
  /** The change that was just made. */
  readonly done?: DoneName | undefined;
  /** The failure, in a sentence; the fields show details. */
  readonly failed?: string | undefined;
}

export interface AccountPageOptions {
  readonly section: AccountSection;
  readonly lede: string;
  readonly script?: string | undefined;
  readonly body: Html;
}

export function isDoneName(text: AccountCatalogue, name: string | undefined): name is DoneName {
  return name !== undefined && Object.hasOwn(text.done, name);
}

export function accountPage(
  frame: PageFrame,
  view: AccountView,
  options: AccountPageOptions,
): string {
  const text = frameText(frame).account;
  return sectionPage(frame, {
    navigation: text.navigation,
    paths: sectionPaths,
    names: text.sections,
    section: options.section,
    title: text.sections[options.section],
    lede: options.lede,
    className: 'page-account',
    script: options.script,
    body: (
      <>
        {view.done && (
          <Notice tone="success" alert>
            {text.done[view.done]}
          </Notice>
        )}
        {view.failed && (
          <Notice tone="danger" title={text.failed.title} alert>
            {view.failed}
          </Notice>
        )}
        {options.body}
      </>
    ),
  });
}

export interface FileOptions {
  readonly id: string;
  readonly name: string;
  readonly label: string;
  readonly hint: string;
  readonly accept: string;
  readonly error?: string | undefined;
}

export function FileField(options: FileOptions): Html {
  const errorId = options.error && `${options.id}-error`;
  return (
    <div class={classes('field', options.error && 'has-error')}>
      <label for={options.id}>{options.label}</label>
      <p class="field-hint" id={`${options.id}-hint`}>
        {options.hint}
      </p>
      <input
        class="input"
        type="file"
        id={options.id}
        name={options.name}
        accept={options.accept}
        aria-invalid={options.error ? 'true' : undefined}
        aria-describedby={classes(`${options.id}-hint`, errorId)}
      />
      {errorId && (
        <p class="field-error" id={errorId}>
          {options.error}
        </p>
      )}
    </div>
  );
}

/** Stands in place of forms that need a recent proof of identity. */
export function freshWanted(text: AccountCatalogue, returnTo: string): Html {
  const href = `/account/confirm?return=${encodeURIComponent(returnTo)}`;
  return (
    <div class="fresh-wanted">
      <p>{text.security.freshNeeded}</p>
      <p>
        <LinkButton label={text.security.freshButton} href={href} kind="secondary" />
      </p>
    </div>
  );
}
