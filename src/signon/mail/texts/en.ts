/** English mails. A line holds at most 78 characters, links aside. */

import type { ChangeEvent } from '../../sessions/security-log.ts';
import type { MailCatalogue, MailText } from './catalogue.ts';

const goodbye = (service: string) => `\n\n-- \n${service}\n`;

const changes: Readonly<Record<ChangeEvent, MailText>> = {
  password_changed: {
    subject: 'Your password was changed',
    text: 'The password of your account was changed, and all other sessions were ended.',
  },
  email_changed: {
    subject: 'Your mail address was changed',
    text: 'The mail address of your account was changed.',
  },
  totp_enabled: {
    subject: 'The second factor of your account was switched on',
    text: `From now on a sign-in with the password of your account asks for a code of the
second factor too.`,
  },
  totp_disabled: {
    subject: 'The second factor of your account was switched off',
    text: 'The second factor of your account was switched off.',
  },
  backup_codes_made: {
    subject: 'New backup codes were made for your account',
    text: `New backup codes of the second factor were made for your account. The former
ones are dead.`,
  },
  passkey_added: {
    subject: 'A passkey was added to your account',
    text: 'A passkey was added to your account. Whoever holds it can sign in.',
  },
  passkey_removed: {
    subject: 'A passkey of your account was removed',
    text: 'A passkey of your account was removed. It signs nobody in any more.',
  },
  api_key_made: {
    subject: 'An API key was made for your account',
    text: `An API key was made for your account. If there was one before, that one works
for another 24 hours.`,
  },
  api_key_revoked: {
    subject: 'An API key of your account was revoked',
    text: 'An API key of your account was revoked. It stopped working at once.',
  },
  webhook_made: {
    subject: 'A webhook was made for your account',
    text: `A webhook was made for your account. From now on its server is told when an
address or a network that it watches gets listed.`,
  },
  webhook_removed: {
    subject: 'A webhook of your account was removed',
    text: 'A webhook of your account was removed. Its server is told nothing any more.',
  },
  phone_verified: {
    subject: 'The phone number of your account was changed',
    text: 'A phone number was confirmed for your account.',
  },
  phone_removed: {
    subject: 'The phone number of your account was removed',
    text: 'The phone number of your account was removed.',
  },
  factor_reset: {
    subject: 'The operator switched off your second factor',
    text: `The operator of the service switched off the second factor of your account,
and ended all its sessions. The password alone opens it until you set up
another.`,
  },
  review_done: {
    subject: 'The review of your account is done',
    text: `The passkeys, keys and sites of your account were looked through after a new
password was set. What was not kept is removed.`,
  },
};

const presentEnd = (
  link: string,
) => `If it was you, there is nothing to do. If not, choose a new password at once:

${link}

That ends all sessions and leads you through the passkeys, keys and sites of
your account, so that you can remove what is not yours.`;

const formerEnd = `You get this because the account had this mail address until lately. If it was
not you, write to the operator of the service at once.`;

function laterOrChoose(worksFrom: string | undefined, choose: boolean): string {
  const later = `Many accounts were registered from your network today, so the link works only
from ${worksFrom} on.\n\n`;
  const byMail = 'You choose your password when you open it.\n\n';
  return `${worksFrom === undefined ? '' : later}${choose ? byMail : ''}`;
}

export const en: MailCatalogue = {
  verify: ({ link, service, worksFrom, choose = false }) => ({
    subject: 'Confirm your mail address',
    text: `Welcome! Confirm your mail address by opening this link within 24 hours:

${link}

${laterOrChoose(worksFrom, choose)}The link works once. If you did not register, ignore this mail: without the
link nothing happens with your address.${goodbye(service)}`,
  }),
  alreadyRegistered: ({ link, service }) => ({
    subject: 'You have an account already',
    text: `Somebody, maybe you, tried to register with this mail address. You have an
account already and nothing was changed.

If you forgot your password, choose a new one here:

${link}${goodbye(service)}`,
  }),
  reset: ({ link, service }) => ({
    subject: 'Choose a new password',
    text: `Open this link within one hour to choose a new password:

${link}

The link works once. It ends all sessions of your account. If you did not ask
for it, ignore this mail: your password stays as it is.${goodbye(service)}`,
  }),
  signInLink: ({ link, service }) => ({
    subject: 'Your link to sign in',
    text: `Somebody tried several times to sign in to your account. That is why a
password alone does not do for the moment. If it was you, open this link
within two hours, in the browser in which you asked for it:

${link}

The link works once, and only in a browser that asked for it. If you use a
second factor you are asked for it as always. If it was not you, ignore this
mail: nobody can use the link elsewhere. Do not pass it on.${goodbye(service)}`,
  }),
  newSignIn: ({ link, service, agent, country }) => ({
    subject: 'New sign-in to your account',
    text: `Somebody signed in to your account from a browser that it did not know:

  Browser: ${agent || 'unknown'}
  Country: ${country === 'ZZ' ? 'unknown' : country}

If it was you, there is nothing to do. If not, end the session and change your
password here:

${link}${goodbye(service)}`,
  }),
  failedSignIns: ({ link, service, agent, country }) => ({
    subject: 'Many failed sign-ins to your account',
    text: `Somebody tried to sign in to your account many times today, with a wrong
password or a wrong code. None of these tries came in. The last one:

  Browser: ${agent || 'unknown'}
  Country: ${country === 'ZZ' ? 'unknown' : country}

If it was you, there is nothing to do. If not, see that you use this password
nowhere else, and set up a second factor if you have none. Your sign-ins and
sessions are listed here:

${link}

You get this mail at most once a day.${goodbye(service)}`,
  }),
  confirmEmail: ({ link, service }) => ({
    subject: 'Confirm your new mail address',
    text: `Open this link within 24 hours to use this mail address for your account:

${link}

The link works once. If you did not ask for it, ignore this mail.${goodbye(service)}`,
  }),
  changed: ({ what, former, link, service, agent, country }) => ({
    subject: changes[what].subject,
    text: `${changes[what].text}

  Browser: ${agent || 'unknown'}
  Country: ${country === 'ZZ' ? 'unknown' : country}

${former ? formerEnd : presentEnd(link)}${goodbye(service)}`,
  }),
  budgetNear: ({ limit, service }) => ({
    subject: 'Your reports will soon carry no voice',
    text: `Your account may have ${limit} open voices: addresses that it reported
and that no list and nobody vouched for has confirmed yet. Four fifths of them
are used.

Once they are used up, your reports still count as evidence, but they carry no
voice: alone they no longer bring an address to the blocklist. A voice comes
back when it is confirmed, and half of what is open lapses in 14 days.

If you did not send so many reports, somebody may have your API key: revoke it
on the page of your keys.${goodbye(service)}`,
  }),
  accountDeleted: ({ service }) => ({
    subject: 'Your account was deleted',
    text: `Your account was deleted, and with it everything that was kept about you. Its
API keys no longer work. This cannot be undone, and it is the last mail that
you get because of this account.

What stays: the reports of addresses that you sent, without their comments,
under a random id that leads to nobody any more. A site that you signed in to
keeps what you let it read; ask the site about that.

If it was not you, write to the operator of the service. You can register
again at any time.${goodbye(service)}`,
  }),
  test: ({ link, service }) => ({
    subject: 'A test of the mails',
    text: `This mail was sent by the operator of the service to see that its mails
arrive. There is nothing to do. Mails with a link show it like this:

${link}${goodbye(service)}`,
  }),
};
