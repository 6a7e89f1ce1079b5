/**
 * The mails that sign-on sends, as plain text (mail-format.ts makes HTML of it), in English and French with the same
 * entries. A line holds at most 78 characters, links aside.
 */

import type { Language } from '../../core/language.ts';
import type { ChangeEvent } from '../sessions/security-log.ts';

export interface MailText {
  readonly subject: string;
  readonly text: string;
  /** The words on the link in the HTML twin. */
  readonly button?: string;
}

/** The browser behind what a mail tells of. */
interface SignInFacts {
  readonly agent: string;
  /** ISO 3166; `ZZ`: unknown. */
  readonly country: string;
  /** Milliseconds since 1970; undefined: the moment in which the mail is written. */
  readonly at?: number;
}

interface ChangedValues extends SignInFacts {
  readonly what: ChangeEvent;
  /** The address is one that the account had before: it gets no link for a new password any more. */
  readonly former: boolean;
  /** The page on which a person asks for recovery. */
  readonly link: string;
}

/** Values are put into plain text as they are: nothing in a mail is HTML. */
interface MailTranslations {
  verify(values: {
    link: string;
    /** The time from which the link works, as text; undefined: at once. */
    worksFrom?: string | undefined;
    /** A password is chosen with the link. */
    choose?: boolean;
  }): MailText;
  alreadyRegistered(values: { link: string }): MailText;
  /** `host`: of this service. */
  invite(values: { link: string; host: string }): MailText;
  reset(values: { link: string }): MailText;
  signInLink(values: { link: string }): MailText;
  newSignIn(values: SignInFacts & { link: string }): MailText;
  /** It names the last of many that failed. */
  failedSignIns(values: SignInFacts & { link: string }): MailText;
  confirmEmail(values: { link: string }): MailText;
  changed(values: ChangedValues): MailText;
  /** `limit`: open votes that the account may have. */
  budgetNear(values: { limit: number }): MailText;
  /** To operators. `link`: of the peer on the console. */
  peerNotice(values: { link: string; peer: string; notice: PeerNotice }): MailText;
  accountDeleted(values: object): MailText;
  /** An operator sends it to see that mails arrive. */
  test(values: { link: string }): MailText;
}

export type MailName = keyof MailTranslations;

const seenLabels = {
  en: { at: 'Time:', agent: 'Browser:', country: 'Country:', unknown: 'unknown' },
  fr: { at: 'Date :', agent: 'Navigateur :', country: 'Pays :', unknown: 'inconnu' },
} as const;

/** An operator's act has no browser. */
function linesOf(language: Language, { agent, country, at }: SignInFacts): string {
  const labels = seenLabels[language];
  const locale = language === 'en' ? 'en-GB' : 'fr-FR';
  const moment = { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' } as const;
  const regions = new Intl.DisplayNames(locale, { type: 'region', fallback: 'none' });
  const name = /^(?!ZZ)[A-Z]{2}$/.test(country) ? regions.of(country) : undefined;
  return [
    ...(at === undefined
      ? []
      : [`  ${labels.at} ${new Intl.DateTimeFormat(locale, moment).format(at)} UTC`]),
    ...(agent === '' && country === 'ZZ'
      ? []
      : [
          `  ${labels.agent} ${agent || labels.unknown}`,
          `  ${labels.country} ${name ?? labels.unknown}`,
        ]),
  ].join('\n');
}

type PeerNotice = 'held' | 'strange key' | 'stale' | 'rotated' | 'budget';

type PeerNotices = Readonly<Record<PeerNotice, (peer: string) => MailText>>;

const peerNoticesEn: PeerNotices = {
  held: (peer) => ({
    subject: `Rows from the peer ${peer} are waiting for you`,
    text: `New rows from
${peer}
look wrong or malicious, so they wait. Rows that it retracts still go. Look at
the new ones, then accept or drop them:`,
  }),
  'strange key': (peer) => ({
    subject: `The peer ${peer} signs with an unknown key`,
    text: `${peer}
signs with a key that you did not pin. Nothing it said counts until you pin
its new key. First ask its operator for the key through another channel.`,
  }),
  stale: (peer) => ({
    subject: `The peer ${peer} is out of date`,
    text: `The last signature of
${peer}
expired a day ago. Nothing it said counts until it signs again. Ask its
operator, or see why it can’t be read:`,
  }),
  rotated: (peer) => ({
    subject: `The peer ${peer} has a new key`,
    text: `${peer}
changed its key. The old key signed the new one, so the new one is pinned now.
There is nothing to do. If its operator knows of no change, pause the peer:`,
  }),
  budget: (peer) => ({
    subject: `The votes of the peer ${peer} are almost used up`,
    text: `${peer}
has used 80% of its open votes. Once they are used up, it raises no score. If
it sees far more than you do, raise its budget. If not, look at what it
reports:`,
  }),
};

const peerNoticesFr: PeerNotices = {
  held: (peer) => ({
    subject: `Des lignes du pair ${peer} vous attendent`,
    text: `De nouvelles lignes de
${peer}
semblent erronées ou malveillantes : elles attendent. Celles qu’il retire
disparaissent quand même. Examinez les nouvelles, puis acceptez-les ou
écartez-les :`,
  }),
  'strange key': (peer) => ({
    subject: `Le pair ${peer} signe avec une clé inconnue`,
    text: `${peer}
signe avec une clé que vous n’avez pas épinglée. Rien de sa part ne compte
avant que vous épingliez sa nouvelle clé. Demandez-la d’abord à son opérateur
par une autre voie.`,
  }),
  stale: (peer) => ({
    subject: `Le pair ${peer} n’est plus à jour`,
    text: `La dernière signature de
${peer}
a expiré il y a un jour. Rien de sa part ne compte tant qu’il ne signe pas à
nouveau. Contactez son opérateur, ou voyez pourquoi il n’est pas lu :`,
  }),
  rotated: (peer) => ({
    subject: `Le pair ${peer} a une nouvelle clé`,
    text: `${peer}
a changé de clé. L’ancienne clé a signé la nouvelle, qui est désormais
épinglée. Vous n’avez rien à faire. Si son opérateur n’en sait rien, suspendez
ce pair :`,
  }),
  budget: (peer) => ({
    subject: `Le pair ${peer} a presque épuisé ses votes`,
    text: `${peer}
a utilisé 80 % de ses votes ouverts. Au-delà, il n’élève plus aucun score.
S’il voit bien plus d’attaques que vous, augmentez son budget. Sinon, examinez
ce qu’il signale :`,
  }),
};

const changesEn: Readonly<Record<ChangeEvent, MailText>> = {
  password_changed: {
    subject: 'Your password was changed',
    text: 'The password of your account was changed, and all other sessions were ended.',
  },
  email_changed: {
    subject: 'Your email address was changed',
    text: 'The email address of your account was changed.',
  },
  totp_enabled: {
    subject: 'Your second factor was turned on',
    text: `From now on, signing in with your password also asks for a code of your second
factor.`,
  },
  totp_disabled: {
    subject: 'Your second factor was turned off',
    text: 'The second factor of your account was turned off.',
  },
  backup_codes_made: {
    subject: 'New backup codes were created',
    text: `New backup codes were created for your account. The old ones no longer work.`,
  },
  passkey_added: {
    subject: 'A passkey was added to your account',
    text: 'A passkey was added to your account. Whoever holds it can sign in.',
  },
  passkey_removed: {
    subject: 'A passkey of your account was removed',
    text: 'A passkey of your account was removed. It no longer works.',
  },
  api_key_made: {
    subject: 'An API key was created for your account',
    text: `An API key was created for your account. If you had one before, it works for
another 24 hours.`,
  },
  api_key_revoked: {
    subject: 'An API key of your account was revoked',
    text: 'An API key of your account was revoked. It stopped working at once.',
  },
  webhook_made: {
    subject: 'A webhook was created for your account',
    text: `A webhook was created for your account. Its server now learns when an address
or network that it watches gets listed.`,
  },
  webhook_removed: {
    subject: 'A webhook of your account was removed',
    text: 'A webhook of your account was removed. Its server gets nothing more.',
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
    subject: 'The operator turned off your second factor',
    text: `The operator of the service turned off your second factor and ended all your
sessions. Until you set up another, your password alone opens the account.`,
  },
  review_done: {
    subject: 'The review of your account is done',
    text: `You reviewed the passkeys, keys and sites of your account after setting a new
password. What you did not keep is removed.`,
  },
};

const presentEndEn = (
  link: string,
  what: ChangeEvent,
) => `If ${what === 'factor_reset' ? 'you asked for this, all is well' : 'this was you, there is nothing to do'}. If not, choose a new password now:

${link}

This ends all sessions. You then review the passkeys, keys and sites of your
account, and remove what is not yours.`;

const formerEndEn = `You get this because the account had this email address until recently. If
this wasn’t you, write to the operator of the service at once.`;

function laterOrChooseEn(worksFrom: string | undefined, choose: boolean): string {
  const later = `Many accounts were registered from your network today, so the link works only
from ${worksFrom} on.\n\n`;
  const byMail = 'You choose your password when you open it.\n\n';
  return `${worksFrom === undefined ? '' : later}${choose ? byMail : ''}`;
}

const en: MailTranslations = {
  verify: ({ link, worksFrom, choose = false }) => ({
    subject: 'Confirm your email address',
    button: 'Confirm my address',
    text: `Welcome! Confirm your email address by opening this link within 24 hours:

${link}

${laterOrChooseEn(worksFrom, choose)}The link works once. If you did not register, ignore this email: your address
will not be used.`,
  }),
  invite: ({ link, host }) => ({
    subject: 'You are invited to create an account',
    button: 'Create my account',
    text: `The operator of ${host} invites you.
Open this link within seven days, and choose a password or a passkey:

${link}

The link works once, and only for this email address. If you do not know the
service, ignore this email: no account will be created.`,
  }),
  alreadyRegistered: ({ link }) => ({
    subject: 'You already have an account',
    button: 'Choose a new password',
    text: `Someone, maybe you, tried to register with this email address. You already
have an account, and nothing was changed.

If you forgot your password, choose a new one here:

${link}`,
  }),
  reset: ({ link }) => ({
    subject: 'Choose a new password',
    button: 'Choose a new password',
    text: `Open this link within one hour to choose a new password:

${link}

The link works once. It ends all sessions of your account. If you did not ask
for it, ignore this email: your password stays as it is.`,
  }),
  signInLink: ({ link }) => ({
    subject: 'Your sign-in link',
    button: 'Sign in',
    text: `Someone tried several times to sign in to your account, so a password alone is
not enough right now. If this was you, open this link within two hours, in the
browser in which you asked for it:

${link}

The link works once, and only in a browser that asked for it. If you use a
second factor, you still need it. If this was not you, ignore this email:
nobody can use the link elsewhere. Do not pass it on.`,
  }),
  newSignIn: ({ link, ...seen }) => ({
    subject: 'New sign-in to your account',
    button: 'Review my sessions',
    text: `Someone signed in to your account from a new browser:

${linesOf('en', seen)}

If this was you, there is nothing to do. If not, end the session and change
your password here:

${link}`,
  }),
  failedSignIns: ({ link, ...seen }) => ({
    subject: 'Many failed sign-ins to your account',
    button: 'Review my sign-ins',
    text: `Someone tried to sign in to your account many times today, with a wrong
password or code. None of these attempts succeeded. The last one:

${linesOf('en', seen)}

If this was you, there is nothing to do. If not, make sure that you use this
password nowhere else, and set up a second factor if you have none. Your
sign-ins and sessions are listed here:

${link}

You get this email at most once a day.`,
  }),
  confirmEmail: ({ link }) => ({
    subject: 'Confirm your new email address',
    button: 'Confirm my address',
    text: `Open this link within 24 hours to use this email address for your account:

${link}

The link works once. If you did not ask for it, ignore this email.`,
  }),
  changed: ({ what, former, link, ...seen }) => ({
    subject: changesEn[what].subject,
    button: 'Choose a new password',
    text: `${changesEn[what].text}

${linesOf('en', seen)}

${former ? formerEndEn : presentEndEn(link, what)}`,
  }),
  budgetNear: ({ limit }) => ({
    subject: 'Your votes are almost used up',
    text: `Your account may have ${limit} open votes. Each is an address you reported that
no list and no trusted account has confirmed yet. Four fifths are used.

Without votes, your reports still count as evidence. Alone, they no longer put
an address on the blocklist. A vote comes back once it is confirmed, and half
of the open ones lapse in 14 days.

If you did not send so many reports, someone may have your API key. Revoke it
on the page of your keys.`,
  }),
  peerNotice({ link, peer, notice }) {
    const { subject, text } = peerNoticesEn[notice](peer);
    return { subject, button: 'Open the peer', text: `${text}\n\n${link}` };
  },
  accountDeleted: () => ({
    subject: 'Your account was deleted',
    text: `Your account was deleted, with everything that was kept about you. Its API
keys no longer work. This cannot be undone. It is the last email about this
account.

What stays: your reports of addresses, without their comments, under a random
id that leads to nobody. A site that you signed in to keeps what you let it
read: ask the site about that.

If this was not you, write to the operator of the service. You can register
again at any time.`,
  }),
  test: ({ link }) => ({
    subject: 'Test email',
    text: `The operator of the service sent this email to see whether its emails arrive.
There is nothing to do. Emails with a link show it like this:

${link}`,
  }),
};

const changesFr: Readonly<Record<ChangeEvent, MailText>> = {
  password_changed: {
    subject: 'Votre mot de passe a été modifié',
    text: `Le mot de passe de votre compte a été modifié et toutes les autres sessions
sont fermées.`,
  },
  email_changed: {
    subject: 'Votre adresse e-mail a été modifiée',
    text: 'L’adresse e-mail de votre compte a été modifiée.',
  },
  totp_enabled: {
    subject: 'Le second facteur de votre compte a été activé',
    text: `Désormais, une connexion avec le mot de passe de votre compte demande aussi un
code du second facteur.`,
  },
  totp_disabled: {
    subject: 'Le second facteur de votre compte a été désactivé',
    text: 'Le second facteur de votre compte a été désactivé.',
  },
  backup_codes_made: {
    subject: 'De nouveaux codes de secours ont été créés',
    text: `De nouveaux codes de secours du second facteur ont été créés pour votre
compte. Les anciens ne fonctionnent plus.`,
  },
  passkey_added: {
    subject: 'Une clé d’accès a été ajoutée à votre compte',
    text: `Une clé d’accès a été ajoutée à votre compte. Qui la détient peut se
connecter.`,
  },
  passkey_removed: {
    subject: 'Une clé d’accès de votre compte a été supprimée',
    text: 'Une clé d’accès de votre compte a été supprimée. Elle ne fonctionne plus.',
  },
  api_key_made: {
    subject: 'Une clé d’API a été créée pour votre compte',
    text: `Une clé d’API a été créée pour votre compte. S’il y en avait une auparavant,
celle-ci fonctionne encore 24 heures.`,
  },
  api_key_revoked: {
    subject: 'Une clé d’API de votre compte a été révoquée',
    text: 'Une clé d’API de votre compte a été révoquée. Elle ne fonctionne plus.',
  },
  webhook_made: {
    subject: 'Un webhook a été créé pour votre compte',
    text: `Un webhook a été créé pour votre compte. Son serveur est désormais averti
quand une adresse ou un réseau qu’il surveille entre dans une liste.`,
  },
  webhook_removed: {
    subject: 'Un webhook de votre compte a été supprimé',
    text: `Un webhook de votre compte a été supprimé. Son serveur ne reçoit plus
rien.`,
  },
  phone_verified: {
    subject: 'Le numéro de téléphone de votre compte a été modifié',
    text: 'Un numéro de téléphone a été confirmé pour votre compte.',
  },
  phone_removed: {
    subject: 'Le numéro de téléphone de votre compte a été supprimé',
    text: 'Le numéro de téléphone de votre compte a été supprimé.',
  },
  factor_reset: {
    subject: 'L’opérateur a désactivé votre second facteur',
    text: `L’opérateur du service a désactivé le second facteur de votre compte et fermé
toutes ses sessions. Votre mot de passe seul ouvre le compte, tant que vous
n’avez pas configuré un autre second facteur.`,
  },
  review_done: {
    subject: 'La vérification de votre compte est terminée',
    text: `Vous avez passé en revue les clés d’accès, les clés et les sites de votre
compte, après le choix d’un nouveau mot de passe. Ce que vous n’avez pas gardé
est retiré.`,
  },
};

const presentEndFr = (
  link: string,
  what: ChangeEvent,
) => `Si ${what === 'factor_reset' ? 'vous l’avez demandé, tout va bien' : 'c’était vous, il n’y a rien à faire'}. Sinon, choisissez tout de suite un
nouveau mot de passe :

${link}

Cela met fin à toutes les sessions. Vous passez ensuite en revue les clés
d’accès, les clés et les sites de votre compte, pour retirer ce qui n’est pas
à vous.`;

const formerEndFr = `Vous recevez cet e-mail parce que le compte avait cette adresse jusqu’à
récemment. Si ce n’était pas vous, écrivez vite à l’opérateur du service.`;

function laterOrChooseFr(worksFrom: string | undefined, choose: boolean): string {
  const later = `Beaucoup de comptes ont été créés aujourd’hui depuis votre réseau : le lien ne
fonctionne qu’à partir de ${worksFrom}.\n\n`;
  const byMail = 'Vous choisirez votre mot de passe en l’ouvrant.\n\n';
  return `${worksFrom === undefined ? '' : later}${choose ? byMail : ''}`;
}

const fr: MailTranslations = {
  verify: ({ link, worksFrom, choose = false }) => ({
    subject: 'Confirmez votre adresse e-mail',
    button: 'Confirmer mon adresse',
    text: `Bienvenue ! Confirmez votre adresse e-mail en ouvrant ce lien dans les
24 heures :

${link}

${laterOrChooseFr(worksFrom, choose)}Le lien ne sert qu’une fois. Si vous ne vous êtes pas inscrit, ignorez cet
e-mail : votre adresse ne sera pas utilisée.`,
  }),
  invite: ({ link, host }) => ({
    subject: 'Vous êtes invité à créer un compte',
    button: 'Créer mon compte',
    text: `L’opérateur du service ${host} vous invite.
Ouvrez ce lien dans les sept jours, et choisissez un mot de passe ou une clé
d’accès :

${link}

Le lien ne sert qu’une fois, et pour cette seule adresse e-mail. Si vous ne
connaissez pas ce service, ignorez cet e-mail : aucun compte ne sera créé.`,
  }),
  alreadyRegistered: ({ link }) => ({
    subject: 'Vous avez déjà un compte',
    button: 'Choisir un nouveau mot de passe',
    text: `Quelqu’un, peut-être vous, a voulu s’inscrire avec cette adresse. Vous avez
déjà un compte et rien n’a été modifié.

Si vous avez oublié votre mot de passe, choisissez-en un nouveau ici :

${link}`,
  }),
  reset: ({ link }) => ({
    subject: 'Choisissez un nouveau mot de passe',
    button: 'Choisir un nouveau mot de passe',
    text: `Ouvrez ce lien dans l’heure pour choisir un nouveau mot de passe :

${link}

Le lien ne sert qu’une fois. Il met fin à toutes les sessions de votre compte.
Si vous n’avez rien demandé, ignorez cet e-mail : votre mot de passe reste
inchangé.`,
  }),
  signInLink: ({ link }) => ({
    subject: 'Votre lien de connexion',
    button: 'Se connecter',
    text: `Quelqu’un a essayé plusieurs fois de se connecter à votre compte. Pour le
moment, le mot de passe seul ne suffit donc pas. Si c’était vous, ouvrez ce
lien dans les deux heures, dans le navigateur où vous l’avez demandé :

${link}

Le lien ne sert qu’une fois, et seulement dans un navigateur qui l’a demandé.
Si vous utilisez un second facteur, il reste nécessaire. Si ce n’était pas
vous, ignorez cet e-mail : personne ne peut utiliser le lien ailleurs. Ne le
transmettez pas.`,
  }),
  newSignIn: ({ link, ...seen }) => ({
    subject: 'Nouvelle connexion à votre compte',
    button: 'Vérifier mes sessions',
    text: `Quelqu’un s’est connecté à votre compte depuis un navigateur inconnu :

${linesOf('fr', seen)}

Si c’était vous, il n’y a rien à faire. Sinon, fermez la session et changez
votre mot de passe ici :

${link}`,
  }),
  failedSignIns: ({ link, ...seen }) => ({
    subject: 'Nombreuses tentatives de connexion à votre compte',
    button: 'Vérifier mes connexions',
    text: `Quelqu’un a essayé de nombreuses fois aujourd’hui de se connecter à votre
compte, avec un mot de passe ou un code incorrect. Aucune tentative n’a
abouti. La dernière :

${linesOf('fr', seen)}

Si c’était vous, il n’y a rien à faire. Sinon, vérifiez que ce mot de passe ne
sert nulle part ailleurs, et configurez un second facteur si vous n’en avez
pas. Vos connexions et vos sessions figurent ici :

${link}

Vous recevez cet e-mail au plus une fois par jour.`,
  }),
  confirmEmail: ({ link }) => ({
    subject: 'Confirmez votre nouvelle adresse e-mail',
    button: 'Confirmer mon adresse',
    text: `Ouvrez ce lien dans les 24 heures pour utiliser cette adresse e-mail avec
votre compte :

${link}

Le lien ne sert qu’une fois. Si vous n’avez rien demandé, ignorez cet
e-mail.`,
  }),
  changed: ({ what, former, link, ...seen }) => ({
    subject: changesFr[what].subject,
    button: 'Choisir un nouveau mot de passe',
    text: `${changesFr[what].text}

${linesOf('fr', seen)}

${former ? formerEndFr : presentEndFr(link, what)}`,
  }),
  budgetNear: ({ limit }) => ({
    subject: 'Vos votes sont presque épuisés',
    text: `Votre compte peut avoir ${limit} votes ouverts. Chacun est une adresse que vous
avez signalée, et qu’aucune liste ni aucun compte de confiance n’a encore
confirmée. Les quatre cinquièmes sont utilisés.

Sans votes, vos signalements comptent encore comme indices. Seuls, ils ne
mettent plus une adresse sur la liste de blocage. Un vote revient dès qu’il
est confirmé, et la moitié des votes ouverts expire en 14 jours.

Si vous n’avez pas envoyé autant de signalements, quelqu’un a peut-être votre
clé d’API. Révoquez-la sur la page de vos clés.`,
  }),
  peerNotice({ link, peer, notice }) {
    const { subject, text } = peerNoticesFr[notice](peer);
    return { subject, button: 'Ouvrir le pair', text: `${text}\n\n${link}` };
  },
  accountDeleted: () => ({
    subject: 'Votre compte a été supprimé',
    text: `Votre compte a été supprimé, avec tout ce qui vous concernait. Ses clés d’API
ne fonctionnent plus. C’est définitif. Cet e-mail est le dernier au sujet de
ce compte.

Ce qui reste : vos signalements d’adresses, sans leurs commentaires, sous un
identifiant aléatoire qui ne mène plus à personne. Un site auquel vous vous
êtes connecté garde ce que vous l’avez laissé lire : adressez-vous à lui.

Si ce n’était pas vous, écrivez à l’opérateur du service. Vous pouvez vous
réinscrire à tout moment.`,
  }),
  test: ({ link }) => ({
    subject: 'E-mail de test',
    text: `L’opérateur du service a envoyé cet e-mail pour voir si ses e-mails arrivent.
Il n’y a rien à faire. Dans un e-mail, un lien se présente ainsi :

${link}`,
  }),
};

export const mailTranslations: Readonly<Record<Language, MailTranslations>> = { en, fr };

export type MailValues<Name extends MailName> = Parameters<MailTranslations[Name]>[0];

/**
 * Returns the subject and the text of a mail, and the words on its link.
 * @param sender the lines under each text
 * @param now milliseconds since 1970
 */
export function mailText<Name extends MailName>(
  language: Language,
  name: Name,
  values: MailValues<Name>,
  sender: string,
  now: number,
): MailText {
  const make = mailTranslations[language][name] as (values: MailValues<Name>) => MailText;
  const { text, ...rest } = make({ at: now, ...values });
  return { ...rest, text: `${text}\n\n-- \n${sender}\n` };
}
