/**
 * English of the pages between a site and a person's profile: consent, and what stands in its
 * place when there is nothing to agree to. Its type is the catalogue of these pages.
 */

import type { ProfileJson } from '../people/profile/profile-json.ts';
import type { AuthorizeError } from '../sites/authorize.ts';
import type { Scope } from '../sites/scopes.ts';

const list = new Intl.ListFormat('en-GB');

/** Returns a name as it stands inside a sentence. */
export function lowerFirst(name: string): string {
  return name.charAt(0).toLowerCase() + name.slice(1);
}

export const consentEn = {
  title: (client: string) => `Sign in to ${client}`,
  heading: 'wants to know you',
  lede: 'It gets what you leave switched on, and nothing else. You can take it back at any time.',
  signedInAs: 'Signed in as',
  otherAccount: 'Use another account',
  site: 'Site',
  answerGoesTo: 'The answer goes to',
  inItsLetters: 'In its own letters:',
  foreignLetters:
    'This name has letters beyond a to z. Some of them look like others, so compare the form that begins with xn-- with what you expect.',
  looksLike: (site: string, known: string) =>
    `${site} is not ${known}: it only looks like it. Allow this only if you know the site ${site}.`,
  mailDomain: (domain: string) =>
    `The domain of your e-mail address has letters beyond a to z. Sites get it as ${domain}.`,
  again: {
    title: 'Asked again',
    added: ([first = '', ...others]: readonly string[]) =>
      others.length === 0
        ? `${first} is new.`
        : `${list.format([first, ...others.map(lowerFirst)])} are new.`,
    filled: (fields: readonly string[]) => `There was no value before: ${fields.join(', ')}.`,
    changed: (fields: readonly string[]) => `Changed since you agreed: ${fields.join(', ')}.`,
    rest: 'The rest is set as you left it.',
    review: 'You decided before; the site asks you to look at it once more.',
  },
  scopesTitle: 'What it will read',
  isNew: 'New',
  isChanged: 'Changed',
  changedMeanwhile:
    'Your profile was changed after this page was shown, so nothing was shared yet. Look at the values of now, and answer again.',
  always: 'Always shared',
  granted: 'Shared so far',
  refused: 'Not shared so far',
  empty: 'empty: not shared',
  yes: 'yes',
  no: 'no',
  pictureAt: (host: string) => `a picture at ${host}`,
  plans: { free: 'free', plus: 'plus' } as Record<string, string>,
  years: (age: number) => (age === 1 ? '1 year' : `${age} years`),
  allow: 'Allow',
  refuse: 'Refuse',
  after: 'Either way you go back to the site.',
  scopes: {
    openid: { name: 'Your public id', hint: 'So that the site knows you again.' },
    profile: { name: 'Your name and picture', hint: '' },
    email: { name: 'Your e-mail address', hint: '' },
    phone: { name: 'Your phone number', hint: '' },
    address: { name: 'Your postal address', hint: '' },
    age: { name: 'Your age', hint: 'With the whole date of birth.' },
    subscription: { name: 'Your plan', hint: '' },
    preferences: { name: 'Your preferences', hint: 'How pages shall look to you.' },
  } as Record<Scope, { readonly name: string; readonly hint: string }>,
  fields: {
    service_id: 'Public id',
    given_name: 'First name',
    family_name: 'Last name',
    nickname: 'Nickname',
    picture: 'Picture',
    email: 'E-mail address',
    email_verified: 'E-mail address verified',
    phone_number: 'Phone number',
    phone_number_verified: 'Phone number verified',
    address: 'Address',
    birthdate: 'Date of birth',
    age: 'Age',
    age_verified: 'Age verified',
    service_plus: 'Plus member',
    service_plan: 'Plan',
    liquid_glass: 'Liquid glass',
  } as Record<keyof ProfileJson, string>,
  refusal: {
    titles: {
      invalid_client_id: 'We cannot tell which site this is',
      invalid_redirect_uri: 'This site asked for an answer that is not its own',
      invalid_request: 'This link is broken',
      site_blocked: 'This site is blocked here',
    } as Record<string, string>,
    texts: {
      invalid_client_id:
        'Whoever sent you here did not name a site that we can recognise, so nothing was shared with anybody.',
      invalid_redirect_uri:
        'The answer would have gone to an address that does not belong to the site, so nothing was shared with anybody.',
      invalid_request:
        'A part of it is missing, comes twice or is written in a way that can be read as two things. Nothing was shared with anybody.',
      site_blocked:
        'Whoever runs this service has blocked the site that sent you here: nobody can sign in there with an account of this service. Nothing was shared with it.',
    } as Record<string, string>,
    todoBlocked:
      'Close this page. Your account and the other sites are as before; what you had allowed this site it can no longer read.',
    todo: 'Close this page, and start again from the site itself. If it happens again, tell the people who run it.',
  },
  named: {
    title: 'This sign-in cannot go on',
    texts: {
      invalid_request: 'The site asked in a way that we do not understand.',
      invalid_scope: 'The site asked for something that does not exist here.',
      unsupported_response_type: 'The site asked for a kind of answer that we do not give.',
      access_denied: 'The site was refused.',
      login_required:
        'The site wants to know who you are without asking, and you are not signed in.',
      consent_required:
        'The site wants to read your profile without asking, and you have not agreed.',
      temporarily_unavailable: 'Nothing can be saved at the moment.',
    } as Record<AuthorizeError, string>,
    back: (host: string) => `Go to ${host}`,
    warning:
      'The link leads to the site that sent you here and tells it what went wrong, not who you are. Follow it only if you know the site.',
  },
  forDevelopers: 'For the developers of the site',
  verify: {
    title: 'First, verify your e-mail address',
    text: (email: string) =>
      `We sent a link to ${email}. Open it, then come back here. No site gets anything before that.`,
    next: 'I have verified it, continue',
    other: 'Send the link again',
  },
  over: {
    title: 'This form is no longer valid',
    text: 'It was answered already, has waited for more than ten minutes, or belongs to another sign-in. Start again from the site.',
    textWithWay:
      'It was answered already, has waited for more than ten minutes, or belongs to another sign-in. Nothing was passed on by it. The same request can begin anew.',
    next: 'Begin anew',
  },
};

export type ConsentCatalogue = typeof consentEn;
