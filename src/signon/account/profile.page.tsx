/**
 * The overview, where a sign-in leads, and the profile: every field of every scope, each form with
 * its errors at the fields.
 */

import { Card, Fold, Folds } from '../../web/components/card.tsx';
import {
  Button,
  CodeField,
  Field,
  Form,
  SelectField,
  SwitchField,
} from '../../web/components/form.tsx';
import { Link, MailAddress } from '../../web/components/link.tsx';
import { Badge } from '../../web/components/table.tsx';
import { classes, type Html } from '../../web/html.ts';
import { type Format, formatFor } from '../../web/layout/format.ts';
import type { PageFrame } from '../../web/layout/layout.tsx';
import {
  type BoundedText,
  isBoundedText,
  type Profile,
  profileFields,
  type Setting,
  settings,
  storedText,
  type TypedText,
  typedTexts,
} from '../people/profile/profile.ts';
import { countryCodes, invisibleCharacterIn } from '../people/profile/profile-edit.ts';
import { frameText } from '../words.ts';
import {
  type AccountSection,
  type AccountView,
  accountPage,
  Facts,
  recentProofNotice,
  Submit,
  sectionPaths,
} from './account.page.tsx';
import type { AccountCatalogue } from './words.ts';

export type ProfileErrorField = keyof AccountCatalogue['profile']['errors'];
export type PictureError = keyof AccountCatalogue['profile']['pictureErrors'];

export interface ProfilePageView extends AccountView {
  readonly profile: Profile;
  readonly email: string;
  /** The values as typed, where they were not accepted; the others are shown as stored. */
  readonly typed: Partial<Record<TypedText | 'email' | 'phone', string>>;
  readonly typedSettings?: Record<Setting, boolean> | undefined;
  readonly errors: readonly ProfileErrorField[];
  readonly pictureError?: PictureError | undefined;
  /** A code was sent, so its form is shown. */
  readonly codeWanted: boolean;
  readonly fresh: boolean;
  /** Undefined with a form that has an error. */
  readonly overview: Overview | undefined;
}

export function profilePage(frame: PageFrame, view: ProfilePageView): string {
  const text = frameText(frame).account;
  return accountPage(frame, view, {
    section: 'profile',
    lede: text.profile.lede,
    body: (
      <>
        {view.overview && overviewCard(frame, view.overview)}
        {personForm(frame, text, view)}
        <Folds>
          {pictureFold(text, view)}
          {emailFold(text, view)}
          {phoneFold(text, view)}
          {planFold(text, view)}
        </Folds>
      </>
    ),
  });
}

function pictureFold({ profile: text }: AccountCatalogue, view: ProfilePageView): Html {
  const { avatar } = view.profile;
  const { csrf } = view;
  return (
    <Fold
      title={text.pictureTitle}
      icon="person"
      aside={
        avatar === '' ? (
          'Gravatar'
        ) : (
          <img class="picture is-small" src={`/avatars/${avatar}`} width="32" height="32" alt="" />
        )
      }
      open={view.pictureError !== undefined}
    >
      {avatar === '' && <p class="card-note">{text.pictureNone}</p>}
      <div class="picture-row">
        {avatar !== '' && (
          <img
            class="picture"
            src={`/avatars/${avatar}`}
            width="96"
            height="96"
            alt={text.pictureAlt}
          />
        )}
        <Form csrf={csrf} action="/account/avatar" multipart>
          {pictureField(text, view.pictureError && text.pictureErrors[view.pictureError])}
          <Submit label={text.pictureSend} kind="secondary" />
        </Form>
      </div>
      {avatar !== '' && (
        <Form csrf={csrf} action="/account/avatar/remove">
          <Button label={text.pictureRemove} kind="quiet" />
        </Form>
      )}
    </Fold>
  );
}

function pictureField(text: AccountCatalogue['profile'], error: string | undefined): Html {
  return (
    <div class={classes('field', error && 'has-error')}>
      <label for="avatar">{text.pictureFile}</label>
      <p class="field-hint" id="avatar-hint">
        {text.pictureHint}
      </p>
      <input
        class="input"
        type="file"
        id="avatar"
        name="avatar"
        accept="image/png,image/jpeg,image/webp"
        aria-invalid={error ? 'true' : undefined}
        aria-describedby={classes('avatar-hint', error && 'avatar-error')}
      />
      {error && (
        <p class="field-error" id="avatar-error">
          {error}
        </p>
      )}
    </div>
  );
}

const addressFields = ['street_address', 'postal_code', 'locality', 'region', 'country'] as const;

function personForm(frame: PageFrame, account: AccountCatalogue, view: ProfilePageView): Html {
  const text = account.profile;
  const typedOrStored = (name: TypedText) => view.typed[name] ?? storedText(view.profile, name);
  const errorOf = (name: ProfileErrorField) => {
    if (!view.errors.includes(name)) return {};
    const hidden = isBoundedText(name)
      ? invisibleCharacterIn(name, typedOrStored(name))
      : undefined;
    return { error: hidden === undefined ? text.errors[name] : text.hidden(hidden) };
  };
  const textField = (name: BoundedText, label: string) => (
    <Field
      id={name}
      name={name}
      label={label}
      value={typedOrStored(name)}
      maxLength={typedTexts[name].charactersMax}
      autocomplete={typedTexts[name].autofill}
      rows={name === 'street_address' ? 2 : undefined}
      {...errorOf(name)}
    />
  );
  const person = (
    <div class="field-grid">
      {textField('given_name', text.givenName)}
      {textField('family_name', text.familyName)}
      {textField('nickname', text.nickname)}
      <Field
        id="birthdate"
        name="birthdate"
        label={
          text.birthdate
        } /* A date field drops a value that is no day; a text field shows it as it was typed. */
        type={errorOf('birthdate').error === undefined ? 'date' : 'text'}
        value={typedOrStored('birthdate')}
        autocomplete={typedTexts.birthdate.autofill}
        hint={view.profile.ageVerified ? text.ageLost : undefined}
        {...errorOf('birthdate')}
      />
    </div>
  );
  const address = (
    <div class="field-grid">
      {textField('street_address', text.street)}
      {textField('postal_code', text.postalCode)}
      {textField('locality', text.locality)}
      {textField('region', text.region)}
      <SelectField
        id="country"
        name="country"
        label={text.country}
        value={typedOrStored('country')}
        options={[{ value: '', label: text.countryNone }, ...countries(frame)]}
        autocomplete={typedTexts.country.autofill}
        {...errorOf('country')}
      />
    </div>
  );
  /** A value that is not stored stays in sight. */
  const isOpenFor = (name: TypedText) => typedOrStored(name) !== storedText(view.profile, name);
  const isSet = (name: Setting) =>
    view.typedSettings?.[name] ?? view.profile[profileFields[name].setting];
  const isChanged = (name: Setting) => isSet(name) !== view.profile[profileFields[name].setting];
  const country = formatFor(frame.language).country(typedOrStored('country'));
  const residence = [typedOrStored('locality'), country].filter(Boolean).join(', ');
  const preferences = settings.map((name) => (
    <SwitchField
      id={name}
      name={name}
      label={text.settings[name].label}
      hint={text.settings[name].hint}
      checked={isSet(name)}
    />
  ));
  return (
    <Form csrf={view.csrf} action="/account/profile" className="form-cards">
      <Card
        title={text.personTitle}
        icon="person"
        aside={view.profile.ageVerified && <Badge label={text.ageVerified} icon="check" />}
      >
        {person}
        <Folds>
          <Fold
            title={text.addressTitle}
            level={3}
            aside={residence || text.nothingSet}
            open={addressFields.some(isOpenFor)}
          >
            {address}
          </Fold>
          <Fold
            title={text.preferencesTitle}
            level={3}
            aside={settings.some(isSet) ? text.preferencesOn : text.preferencesOff}
            open={settings.some(isChanged)}
          >
            {preferences}
          </Fold>
        </Folds>
        <Submit label={account.save} />
      </Card>
    </Form>
  );
}

/** Sorts by the names in the reader's language; a country without a name is named by its code. */
function countries(frame: PageFrame): { value: string; label: string }[] {
  const format = formatFor(frame.language);
  const named = countryCodes.map((value) => ({ value, label: format.country(value) ?? value }));
  return named.sort((a, b) => a.label.localeCompare(b.label, frame.language));
}

function emailFold(account: AccountCatalogue, view: ProfilePageView): Html {
  const text = account.profile;
  return (
    <Fold
      title={text.emailTitle}
      icon="mail"
      aside={<MailAddress text={view.email} />}
      open={view.errors.includes('email')}
    >
      {view.fresh ? (
        <Form csrf={view.csrf} action="/account/email">
          <Field
            id="email"
            name="email"
            type="email"
            label={text.emailNew}
            hint={text.emailHint}
            autocomplete="email"
            value={view.typed.email ?? ''}
            error={view.errors.includes('email') ? text.errors.email : undefined}
          />
          <Submit label={text.emailSend} kind="secondary" />
        </Form>
      ) : (
        recentProofNotice(account, '/account')
      )}
    </Fold>
  );
}

function phoneFold(account: AccountCatalogue, view: ProfilePageView): Html {
  const text = account.profile;
  const { phone, phoneVerified } = view.profile;
  return (
    <Fold
      title={text.phoneTitle}
      icon="phone"
      aside={
        phone === '' ? (
          text.countryNone
        ) : (
          <Badge label={phoneVerified ? text.phoneVerified : text.phoneUnverified} />
        )
      }
      open={view.codeWanted || view.errors.some((name) => name === 'phone' || name === 'code')}
    >
      {view.fresh ? (
        phoneForms(text, view)
      ) : (
        <>
          {phone !== '' && <p>{phone}</p>}
          {recentProofNotice(account, '/account')}
        </>
      )}
    </Fold>
  );
}

function phoneForms(text: AccountCatalogue['profile'], view: ProfilePageView): Html {
  const { csrf } = view;
  const { phone } = view.profile;
  const error = (name: 'phone' | 'code') =>
    view.errors.includes(name) ? { error: text.errors[name] } : {};
  return (
    <>
      <Form csrf={csrf} action="/account/phone">
        <Field
          id="phone"
          name="phone"
          type="tel"
          label={text.phone}
          hint={text.phoneHint}
          autocomplete="tel"
          value={view.typed.phone ?? phone}
          {...error('phone')}
        />
        <Submit label={text.phoneSend} kind="secondary" />
      </Form>
      {view.codeWanted && (
        <Form csrf={csrf} action="/account/phone/verify">
          <CodeField
            label={text.phoneCode}
            hint={text.phoneCodeHint}
            inputMode="numeric"
            maxLength={12}
            {...error('code')}
          />
          <Submit label={text.phoneVerify} />
        </Form>
      )}
      {phone !== '' && (
        <Form csrf={csrf} action="/account/phone/remove">
          <Button label={text.phoneRemove} kind="quiet" />
        </Form>
      )}
    </>
  );
}

function planFold({ profile: text }: AccountCatalogue, { profile }: ProfilePageView): Html {
  return (
    <Fold title={text.planTitle} icon="tag" aside={text.plans[profile.plan]}>
      <Facts
        facts={[
          {
            name: text.planTitle,
            value: text.plans[profile.plan],
            note: text.planText,
            isWide: true,
          },
          {
            name: text.identifier,
            value: profile.serviceId,
            note: text.identifierHint,
            isWide: true,
            className: 'mono',
          },
        ]}
      />
    </Fold>
  );
}

// The overview shows keys, sites and security in figures, each a link to its page, and what is left to
// do. Nothing in it is secret, and nothing is sent.

export interface Overview {
  /** The API keys that are not revoked. */
  readonly keys: number;
  /** The reads in the hours that the page of keys shows. */
  readonly reads: number;
  readonly writes: number;
  readonly sites: number;
  readonly passkeys: number;
  readonly secondFactor: boolean;
  /** Backup codes that are left; 0 without a second factor. */
  readonly backupCodes: number;
  readonly sessions: number;
}

/** Fewer are mentioned: they would run out when somebody needs them. */
const backupCodesFew = 3;

type Step = keyof AccountCatalogue['overview']['steps'];

const sectionOf: Readonly<Record<Step, AccountSection>> = {
  secondProof: 'security',
  backupCodes: 'security',
  key: 'keys',
};

/** Returns what the account lacks, the most urgent first. */
function stepsOf(seen: Overview): Step[] {
  const steps: Step[] = [];
  if (seen.passkeys === 0 && !seen.secondFactor) steps.push('secondProof');
  if (seen.secondFactor && seen.backupCodes < backupCodesFew) steps.push('backupCodes');
  if (seen.keys === 0) steps.push('key');
  return steps;
}

function overviewCard(frame: PageFrame, seen: Overview): Html {
  const account = frameText(frame).account;
  const { overview: text } = account;
  const steps = stepsOf(seen);
  return (
    <Card title={text.title} icon="chart">
      <Facts facts={factsOf(account, formatFor(frame.language), seen)} />
      {steps.length > 0 && (
        <div>
          <h3 class="small-title">{text.next}</h3>
          <ul>
            {steps.map((step) => (
              <li>
                <Link href={sectionPaths[sectionOf[step]]}>{text.steps[step]}</Link>
              </li>
            ))}
          </ul>
        </div>
      )}
    </Card>
  );
}

const isStrong = (seen: Overview): boolean => seen.passkeys > 0 || seen.secondFactor;

function factsOf({ overview: text, sections }: AccountCatalogue, format: Format, seen: Overview) {
  const fact = (section: AccountSection, value: string, note: string) => ({
    name: <Link href={sectionPaths[section]}>{sections[section]}</Link>,
    value: `${value} `,
    note,
  });
  return [
    fact(
      'keys',
      seen.keys === 0 ? text.none.keys : format.number(seen.keys),
      seen.keys === 0
        ? text.noKeys
        : seen.reads + seen.writes === 0
          ? text.unused
          : text.use(format.number(seen.reads), format.number(seen.writes)),
    ),
    fact(
      'sites',
      seen.sites === 0 ? text.none.sites : format.number(seen.sites),
      seen.sites === 0 ? text.noSites : text.sites,
    ),
    fact(
      'security',
      isStrong(seen) ? text.strong : text.weak,
      text.proofs(format.number(seen.passkeys), seen.secondFactor, format.number(seen.sessions)),
    ),
  ];
}
