/**
 * The mails that sign-on sends, as plain text (letter.ts makes HTML of it), in English and French with the same
 * entries. A line holds at most 78 characters, links aside.
 */

import type { ChangeEvent } from '../sessions/security-log.ts';
import type { StoredLanguage } from '../visitor.ts';

export interface MailText {
  readonly subject: string;
  readonly text: string;
}

export interface ChangedValues {
  readonly what: ChangeEvent;
  /** The address is one that the account had before: it gets no link for a new password any more. */
  readonly former: boolean;
  /** The page on which a person asks for recovery. */
  readonly link: string;
  readonly agent: string;
  readonly country: string;
}

/** Values are put into plain text as they are: nothing in a mail is HTML. */
export interface MailCatalogue {
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
  newSignIn(values: { link: string; agent: string; country: string }): MailText;
  /** `agent` and `country` are those of the last of many that failed. */
  failedSignIns(values: { link: string; agent: string; country: string }): MailText;
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

export type MailName = keyof MailCatalogue;

type PeerNotice = 'held' | 'strange key' | 'stale' | 'rotated' | 'budget';

type PeerNotices = Readonly<Record<PeerNotice, (peer: string) => MailText>>;

const peerNoticesEn: PeerNotices = {
  held: (peer) => ({
    subject: `The peer ${peer} waits for you`,
    text: `New rows of
${peer}
look like a mistake or like poison, so they wait. What it takes back still
goes. Look at them, then accept or drop them:`,
  }),
  'strange key': (peer) => ({
    subject: `A strange key signs for the peer ${peer}`,
    text: `A key that you did not pin signs what
${peer}
publishes. Nothing that it said counts until you pin a new key.
Ask its operator by another way first.`,
  }),
  stale: (peer) => ({
    subject: `The peer ${peer} is out of date`,
    text: `The last signature of
${peer}
has been over for a day. Nothing that it said counts until it signs again.
Ask its operator, or see why it can’t be read:`,
  }),
  rotated: (peer) => ({
    subject: `The peer ${peer} has a new key`,
    text: `${peer}
changed its key. The key that you had pinned signed the new one, so it is
pinned now. You need do nothing. If its operator knows of no change, pause it:`,
  }),
  budget: (peer) => ({
    subject: `The votes of the peer ${peer} are nearly used up`,
    text: `${peer}
has used 80 % of its open votes. Beyond all of them its word lifts no score.
If you see far less than it does, raise its budget. Else look at what it says:`,
  }),
};

const peerNoticesFr: PeerNotices = {
  held: (peer) => ({
    subject: `Le pair ${peer} attend votre décision`,
    text: `De nouvelles lignes de
${peer}
ressemblent à une erreur ou à un empoisonnement : elles attendent. Ce qu’il
retire disparaît quand même. Regardez-les, puis acceptez-les ou écartez-les :`,
  }),
  'strange key': (peer) => ({
    subject: `Une clé inconnue signe pour le pair ${peer}`,
    text: `Une clé que vous n’avez pas fixée signe ce que publie
${peer}.
Rien de lui ne compte tant que vous n’avez pas fixé une nouvelle clé.
Demandez-la d’abord à son exploitant par une autre voie.`,
  }),
  stale: (peer) => ({
    subject: `Le pair ${peer} est périmé`,
    text: `La dernière signature de
${peer}
est échue depuis un jour. Rien de lui ne compte tant qu’il ne signe pas de
nouveau. Demandez à son exploitant, ou voyez pourquoi il n’est pas lu :`,
  }),
  rotated: (peer) => ({
    subject: `Le pair ${peer} a une nouvelle clé`,
    text: `${peer}
a changé de clé. La clé que vous aviez fixée a signé la nouvelle, qui est
fixée maintenant. Vous n’avez rien à faire. Si son exploitant n’en sait rien,
suspendez-le :`,
  }),
  budget: (peer) => ({
    subject: `Le pair ${peer} a presque épuisé ses votes`,
    text: `${peer}
a utilisé 80 % de ses votes ouverts. Au-delà, sa parole ne relève aucun score.
Si vous voyez bien moins que lui, augmentez son budget. Sinon, regardez ce
qu’il dit :`,
  }),
};

const changesEn: Readonly<Record<ChangeEvent, MailText>> = {
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

const presentEndEn = (
  link: string,
) => `If it was you, there is nothing to do. If not, choose a new password at once:

${link}

That ends all sessions and leads you through the passkeys, keys and sites of
your account, so that you can remove what is not yours.`;

const formerEndEn = `You get this because the account had this mail address until lately. If it was
not you, write to the operator of the service at once.`;

function laterOrChooseEn(worksFrom: string | undefined, choose: boolean): string {
  const later = `Many accounts were registered from your network today, so the link works only
from ${worksFrom} on.\n\n`;
  const byMail = 'You choose your password when you open it.\n\n';
  return `${worksFrom === undefined ? '' : later}${choose ? byMail : ''}`;
}

const en: MailCatalogue = {
  verify: ({ link, worksFrom, choose = false }) => ({
    subject: 'Confirm your mail address',
    text: `Welcome! Confirm your mail address by opening this link within 24 hours:

${link}

${laterOrChooseEn(worksFrom, choose)}The link works once. If you did not register, ignore this mail: without the
link nothing happens with your address.`,
  }),
  invite: ({ link, host }) => ({
    subject: 'You are invited to make an account',
    text: `The operator of ${host} invites you.
Open this link within seven days, and choose a password or a passkey:

${link}

The link works once, for this mail address alone. If you do not know the
service, ignore this mail: without the link there will be no account.`,
  }),
  alreadyRegistered: ({ link }) => ({
    subject: 'You have an account already',
    text: `Somebody, maybe you, tried to register with this mail address. You have an
account already and nothing was changed.

If you forgot your password, choose a new one here:

${link}`,
  }),
  reset: ({ link }) => ({
    subject: 'Choose a new password',
    text: `Open this link within one hour to choose a new password:

${link}

The link works once. It ends all sessions of your account. If you did not ask
for it, ignore this mail: your password stays as it is.`,
  }),
  signInLink: ({ link }) => ({
    subject: 'Your link to sign in',
    text: `Somebody tried several times to sign in to your account. That is why a
password alone does not do for the moment. If it was you, open this link
within two hours, in the browser in which you asked for it:

${link}

The link works once, and only in a browser that asked for it. If you use a
second factor you are asked for it as always. If it was not you, ignore this
mail: nobody can use the link elsewhere. Do not pass it on.`,
  }),
  newSignIn: ({ link, agent, country }) => ({
    subject: 'New sign-in to your account',
    text: `Somebody signed in to your account from a browser that it did not know:

  Browser: ${agent || 'unknown'}
  Country: ${country === 'ZZ' ? 'unknown' : country}

If it was you, there is nothing to do. If not, end the session and change your
password here:

${link}`,
  }),
  failedSignIns: ({ link, agent, country }) => ({
    subject: 'Many failed sign-ins to your account',
    text: `Somebody tried to sign in to your account many times today, with a wrong
password or a wrong code. None of these tries came in. The last one:

  Browser: ${agent || 'unknown'}
  Country: ${country === 'ZZ' ? 'unknown' : country}

If it was you, there is nothing to do. If not, see that you use this password
nowhere else, and set up a second factor if you have none. Your sign-ins and
sessions are listed here:

${link}

You get this mail at most once a day.`,
  }),
  confirmEmail: ({ link }) => ({
    subject: 'Confirm your new mail address',
    text: `Open this link within 24 hours to use this mail address for your account:

${link}

The link works once. If you did not ask for it, ignore this mail.`,
  }),
  changed: ({ what, former, link, agent, country }) => ({
    subject: changesEn[what].subject,
    text: `${changesEn[what].text}

  Browser: ${agent || 'unknown'}
  Country: ${country === 'ZZ' ? 'unknown' : country}

${former ? formerEndEn : presentEndEn(link)}`,
  }),
  budgetNear: ({ limit }) => ({
    subject: 'Your reports will soon carry no vote',
    text: `Your account may have ${limit} open votes: addresses that it reported
and that no list and nobody vouched for has confirmed yet. Four fifths of them
are used.

Once they are used up, your reports still count as evidence, but they carry no
vote: alone they no longer bring an address to the blocklist. A vote comes
back when it is confirmed, and half of what is open lapses in 14 days.

If you did not send so many reports, somebody may have your API key: revoke it
on the page of your keys.`,
  }),
  peerNotice({ link, peer, notice }) {
    const { subject, text } = peerNoticesEn[notice](peer);
    return { subject, text: `${text}\n\n${link}` };
  },
  accountDeleted: () => ({
    subject: 'Your account was deleted',
    text: `Your account was deleted, and with it everything that was kept about you. Its
API keys no longer work. This cannot be undone, and it is the last mail that
you get because of this account.

What stays: the reports of addresses that you sent, without their comments,
under a random id that leads to nobody any more. A site that you signed in to
keeps what you let it read; ask the site about that.

If it was not you, write to the operator of the service. You can register
again at any time.`,
  }),
  test: ({ link }) => ({
    subject: 'A test of the mails',
    text: `This mail was sent by the operator of the service to see that its mails
arrive. There is nothing to do. Mails with a link show it like this:

${link}`,
  }),
};

const changesFr: Readonly<Record<ChangeEvent, MailText>> = {
  password_changed: {
    subject: 'Votre mot de passe a été modifié',
    text: `Le mot de passe de votre compte a été modifié et toutes les autres sessions
sont terminées.`,
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
compte. Les anciens ne valent plus rien.`,
  },
  passkey_added: {
    subject: 'Une clé d’accès a été ajoutée à votre compte',
    text: `Une clé d’accès a été ajoutée à votre compte. Qui la détient peut se
connecter.`,
  },
  passkey_removed: {
    subject: 'Une clé d’accès de votre compte a été retirée',
    text: 'Une clé d’accès de votre compte a été retirée. Elle ne connecte plus personne.',
  },
  api_key_made: {
    subject: 'Une clé d’API a été créée pour votre compte',
    text: `Une clé d’API a été créée pour votre compte. S’il y en avait une auparavant,
celle-ci fonctionne encore 24 heures.`,
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
    subject: 'Un webhook de votre compte a été retiré',
    text: `Un webhook de votre compte a été retiré. Son serveur n’est plus averti de
rien.`,
  },
  phone_verified: {
    subject: 'Le numéro de téléphone de votre compte a été modifié',
    text: 'Un numéro de téléphone a été confirmé pour votre compte.',
  },
  phone_removed: {
    subject: 'Le numéro de téléphone de votre compte a été retiré',
    text: 'Le numéro de téléphone de votre compte a été retiré.',
  },
  factor_reset: {
    subject: 'L’exploitant a désactivé votre second facteur',
    text: `L’exploitant du service a désactivé le second facteur de votre compte et
terminé toutes ses sessions. Le mot de passe seul l’ouvre jusqu’à ce que vous
en installiez un autre.`,
  },
  review_done: {
    subject: 'La vérification de votre compte est terminée',
    text: `Les clés d’accès, clés et sites de votre compte ont été passés en revue après
le choix d’un nouveau mot de passe. Ce qui n’a pas été gardé est retiré.`,
  },
};

const presentEndFr = (
  link: string,
) => `Si c’était vous, il n’y a rien à faire. Sinon, choisissez aussitôt un nouveau
mot de passe :

${link}

Cela met fin à toutes les sessions et vous fait passer en revue les clés
d’accès, les clés et les sites de votre compte, pour retirer ce qui n’est pas
à vous.`;

const formerEndFr = `Vous recevez ce message parce que le compte avait cette adresse jusqu’à
récemment. Si ce n’était pas vous, écrivez aussitôt à l’exploitant du service.`;

function laterOrChooseFr(worksFrom: string | undefined, choose: boolean): string {
  const later = `Beaucoup de comptes ont été créés aujourd’hui depuis votre réseau : le lien ne
marche qu’à partir de ${worksFrom}.\n\n`;
  const byMail = 'Vous choisissez votre mot de passe en l’ouvrant.\n\n';
  return `${worksFrom === undefined ? '' : later}${choose ? byMail : ''}`;
}

const fr: MailCatalogue = {
  verify: ({ link, worksFrom, choose = false }) => ({
    subject: 'Confirmez votre adresse e-mail',
    text: `Bienvenue ! Confirmez votre adresse e-mail en ouvrant ce lien dans les
24 heures :

${link}

${laterOrChooseFr(worksFrom, choose)}Le lien ne sert qu’une fois. Si vous ne vous êtes pas inscrit, ignorez ce
message : sans le lien, rien ne se passe avec votre adresse.`,
  }),
  invite: ({ link, host }) => ({
    subject: 'Vous êtes invité à créer un compte',
    text: `L’exploitant de ${host} vous invite.
Ouvrez ce lien dans les sept jours, et choisissez un mot de passe ou une clé
d’accès :

${link}

Le lien sert une fois, pour cette adresse seule. Si vous ne connaissez pas ce
service, ignorez ce message : sans le lien, aucun compte ne sera créé.`,
  }),
  alreadyRegistered: ({ link }) => ({
    subject: 'Vous avez déjà un compte',
    text: `Quelqu’un, peut-être vous, a voulu s’inscrire avec cette adresse. Vous avez
déjà un compte et rien n’a été modifié.

Si vous avez oublié votre mot de passe, choisissez-en un nouveau ici :

${link}`,
  }),
  reset: ({ link }) => ({
    subject: 'Choisissez un nouveau mot de passe',
    text: `Ouvrez ce lien dans l’heure pour choisir un nouveau mot de passe :

${link}

Le lien ne sert qu’une fois. Il met fin à toutes les sessions de votre compte.
Si vous n’avez rien demandé, ignorez ce message : votre mot de passe reste
inchangé.`,
  }),
  signInLink: ({ link }) => ({
    subject: 'Votre lien de connexion',
    text: `Quelqu’un a essayé plusieurs fois de se connecter à votre compte. Pour le
moment, le mot de passe seul ne suffit donc pas. Si c’était vous, ouvrez ce
lien dans les deux heures, dans le navigateur où vous l’avez demandé :

${link}

Le lien fonctionne une seule fois, et seulement dans un navigateur qui l’a
demandé. Si vous utilisez un second facteur, il vous est demandé comme
toujours. Si ce n’était pas vous, ignorez ce message : personne ne peut
utiliser le lien ailleurs. Ne le transmettez pas.`,
  }),
  newSignIn: ({ link, agent, country }) => ({
    subject: 'Nouvelle connexion à votre compte',
    text: `Quelqu’un s’est connecté à votre compte depuis un navigateur inconnu :

  Navigateur : ${agent || 'inconnu'}
  Pays : ${country === 'ZZ' ? 'inconnu' : country}

Si c’était vous, il n’y a rien à faire. Sinon, terminez la session et changez
votre mot de passe ici :

${link}`,
  }),
  failedSignIns: ({ link, agent, country }) => ({
    subject: 'Beaucoup de connexions refusées à votre compte',
    text: `Quelqu’un a essayé de nombreuses fois aujourd’hui de se connecter à votre
compte, avec un mot de passe ou un code faux. Aucun de ces essais n’a abouti.
Le dernier :

  Navigateur : ${agent || 'inconnu'}
  Pays : ${country === 'ZZ' ? 'inconnu' : country}

Si c’était vous, il n’y a rien à faire. Sinon, vérifiez que ce mot de passe ne
sert nulle part ailleurs, et configurez un second facteur si vous n’en avez
pas. Vos connexions et vos sessions sont listées ici :

${link}

Vous recevez ce message au plus une fois par jour.`,
  }),
  confirmEmail: ({ link }) => ({
    subject: 'Confirmez votre nouvelle adresse e-mail',
    text: `Ouvrez ce lien dans les 24 heures pour utiliser cette adresse e-mail avec
votre compte :

${link}

Le lien ne sert qu’une fois. Si vous n’avez rien demandé, ignorez ce
message.`,
  }),
  changed: ({ what, former, link, agent, country }) => ({
    subject: changesFr[what].subject,
    text: `${changesFr[what].text}

  Navigateur : ${agent || 'inconnu'}
  Pays : ${country === 'ZZ' ? 'inconnu' : country}

${former ? formerEndFr : presentEndFr(link)}`,
  }),
  budgetNear: ({ limit }) => ({
    subject: 'Vos signalements n’auront bientôt plus de voix',
    text: `Votre compte peut avoir ${limit} voix ouvertes : des adresses qu’il a signalées
et que ni une liste ni un compte de confiance n’a encore confirmées. Quatre
cinquièmes en sont utilisés.

Une fois toutes utilisées, vos signalements comptent encore comme indices,
mais sans voix : seuls, ils ne mènent plus une adresse à la liste de blocage.
Une voix revient quand elle est confirmée, et la moitié de ce qui est ouvert
s’éteint en 14 jours.

Si vous n’avez pas envoyé tant de signalements, quelqu’un a peut-être votre
clé d’API : révoquez-la sur la page de vos clés.`,
  }),
  peerNotice({ link, peer, notice }) {
    const { subject, text } = peerNoticesFr[notice](peer);
    return { subject, text: `${text}\n\n${link}` };
  },
  accountDeleted: () => ({
    subject: 'Votre compte a été supprimé',
    text: `Votre compte a été supprimé, et avec lui tout ce qui était gardé sur vous. Ses
clés d’API ne fonctionnent plus. C’est définitif, et c’est le dernier message
que vous recevez à cause de ce compte.

Ce qui reste : vos signalements d’adresses, sans leurs commentaires, sous un
identifiant aléatoire qui ne mène plus à personne. Un site auquel vous vous
êtes connecté garde ce que vous l’avez laissé lire ; adressez-vous à lui.

Si ce n’était pas vous, écrivez à l’exploitant du service. Vous pouvez vous
inscrire de nouveau à tout moment.`,
  }),
  test: ({ link }) => ({
    subject: 'Un essai des e-mails',
    text: `L’opérateur du service a envoyé ce e-mail pour voir si ses e-mails
arrivent. Il n’y a rien à faire. Un e-mail qui porte un lien le montre
ainsi :

${link}`,
  }),
};

export const mailCatalogues: Readonly<Record<StoredLanguage, MailCatalogue>> = { en, fr };

export type MailValues<Name extends MailName> = Parameters<MailCatalogue[Name]>[0];

/** Returns the subject and the text of a mail. @param sender the lines under each text */
export function mailText<Name extends MailName>(
  language: StoredLanguage,
  name: Name,
  values: MailValues<Name>,
  sender: string,
): MailText {
  const make = mailCatalogues[language][name] as (values: MailValues<Name>) => MailText;
  const { subject, text } = make(values);
  return { subject, text: `${text}\n\n-- \n${sender}\n` };
}
