/** English mails. A line holds at most 78 characters, links aside. */

import type { MailCatalogue } from './catalogue.ts';

const goodbye = (service: string) => `\n\n-- \n${service}\n`;

export const en: MailCatalogue = {
  verify: ({ link, service }) => ({
    subject: 'Confirm your mail address',
    text: `Welcome! Confirm your mail address by opening this link within 24 hours:

${link}

The link works once. If you did not register, ignore this mail: without the
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
  passwordChanged: ({ link, service }) => ({
    subject: 'Your password was changed',
    text: `The password of your account was changed, and all other sessions were ended.

If it was not you, choose a new password at once:

${link}${goodbye(service)}`,
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
  confirmEmail: ({ link, service }) => ({
    subject: 'Confirm your new mail address',
    text: `Open this link within 24 hours to use this mail address for your account:

${link}

The link works once. If you did not ask for it, ignore this mail.${goodbye(service)}`,
  }),
  emailChanged: ({ service }) => ({
    subject: 'Your mail address was changed',
    text: `The mail address of your account was changed. Mails go to the new one from now
on. If it was not you, write to the operator of the service.${goodbye(service)}`,
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
};
