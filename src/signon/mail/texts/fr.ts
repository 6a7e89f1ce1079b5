/** French mails. A line holds at most 78 characters, links aside. */

import type { ChangeEvent } from '../../sessions/security-log.ts';
import type { MailCatalogue, MailText } from './catalogue.ts';

const goodbye = (service: string) => `\n\n-- \n${service}\n`;

const changes: Readonly<Record<ChangeEvent, MailText>> = {
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

const presentEnd = (
  link: string,
) => `Si c’était vous, il n’y a rien à faire. Sinon, choisissez aussitôt un nouveau
mot de passe :

${link}

Cela met fin à toutes les sessions et vous fait passer en revue les clés
d’accès, les clés et les sites de votre compte, pour retirer ce qui n’est pas
à vous.`;

const formerEnd = `Vous recevez ce message parce que le compte avait cette adresse jusqu’à
récemment. Si ce n’était pas vous, écrivez aussitôt à l’exploitant du service.`;

function laterOrChoose(worksFrom: string | undefined, choose: boolean): string {
  const later = `Beaucoup de comptes ont été créés aujourd’hui depuis votre réseau : le lien ne
marche qu’à partir de ${worksFrom}.\n\n`;
  const byMail = 'Vous choisissez votre mot de passe en l’ouvrant.\n\n';
  return `${worksFrom === undefined ? '' : later}${choose ? byMail : ''}`;
}

export const fr: MailCatalogue = {
  verify: ({ link, service, worksFrom, choose = false }) => ({
    subject: 'Confirmez votre adresse e-mail',
    text: `Bienvenue ! Confirmez votre adresse e-mail en ouvrant ce lien dans les
24 heures :

${link}

${laterOrChoose(worksFrom, choose)}Le lien ne sert qu’une fois. Si vous ne vous êtes pas inscrit, ignorez ce
message : sans le lien, rien ne se passe avec votre adresse.${goodbye(service)}`,
  }),
  alreadyRegistered: ({ link, service }) => ({
    subject: 'Vous avez déjà un compte',
    text: `Quelqu’un, peut-être vous, a voulu s’inscrire avec cette adresse. Vous avez
déjà un compte et rien n’a été modifié.

Si vous avez oublié votre mot de passe, choisissez-en un nouveau ici :

${link}${goodbye(service)}`,
  }),
  reset: ({ link, service }) => ({
    subject: 'Choisissez un nouveau mot de passe',
    text: `Ouvrez ce lien dans l’heure pour choisir un nouveau mot de passe :

${link}

Le lien ne sert qu’une fois. Il met fin à toutes les sessions de votre compte.
Si vous n’avez rien demandé, ignorez ce message : votre mot de passe reste
inchangé.${goodbye(service)}`,
  }),
  signInLink: ({ link, service }) => ({
    subject: 'Votre lien de connexion',
    text: `Quelqu’un a essayé plusieurs fois de se connecter à votre compte. Pour le
moment, le mot de passe seul ne suffit donc pas. Si c’était vous, ouvrez ce
lien dans les deux heures, dans le navigateur où vous l’avez demandé :

${link}

Le lien fonctionne une seule fois, et seulement dans un navigateur qui l’a
demandé. Si vous utilisez un second facteur, il vous est demandé comme
toujours. Si ce n’était pas vous, ignorez ce message : personne ne peut
utiliser le lien ailleurs. Ne le transmettez pas.${goodbye(service)}`,
  }),
  newSignIn: ({ link, service, agent, country }) => ({
    subject: 'Nouvelle connexion à votre compte',
    text: `Quelqu’un s’est connecté à votre compte depuis un navigateur inconnu :

  Navigateur : ${agent || 'inconnu'}
  Pays : ${country === 'ZZ' ? 'inconnu' : country}

Si c’était vous, il n’y a rien à faire. Sinon, terminez la session et changez
votre mot de passe ici :

${link}${goodbye(service)}`,
  }),
  failedSignIns: ({ link, service, agent, country }) => ({
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

Vous recevez ce message au plus une fois par jour.${goodbye(service)}`,
  }),
  confirmEmail: ({ link, service }) => ({
    subject: 'Confirmez votre nouvelle adresse e-mail',
    text: `Ouvrez ce lien dans les 24 heures pour utiliser cette adresse e-mail avec
votre compte :

${link}

Le lien ne sert qu’une fois. Si vous n’avez rien demandé, ignorez ce
message.${goodbye(service)}`,
  }),
  changed: ({ what, former, link, service, agent, country }) => ({
    subject: changes[what].subject,
    text: `${changes[what].text}

  Navigateur : ${agent || 'inconnu'}
  Pays : ${country === 'ZZ' ? 'inconnu' : country}

${former ? formerEnd : presentEnd(link)}${goodbye(service)}`,
  }),
  budgetNear: ({ limit, service }) => ({
    subject: 'Vos signalements n’auront bientôt plus de voix',
    text: `Votre compte peut avoir ${limit} voix ouvertes : des adresses qu’il a signalées
et que ni une liste ni un compte de confiance n’a encore confirmées. Quatre
cinquièmes en sont utilisés.

Une fois toutes utilisées, vos signalements comptent encore comme indices,
mais sans voix : seuls, ils ne mènent plus une adresse à la liste de blocage.
Une voix revient quand elle est confirmée, et la moitié de ce qui est ouvert
s’éteint en 14 jours.

Si vous n’avez pas envoyé tant de signalements, quelqu’un a peut-être votre
clé d’API : révoquez-la sur la page de vos clés.${goodbye(service)}`,
  }),
  accountDeleted: ({ service }) => ({
    subject: 'Votre compte a été supprimé',
    text: `Votre compte a été supprimé, et avec lui tout ce qui était gardé sur vous. Ses
clés d’API ne fonctionnent plus. C’est définitif, et c’est le dernier message
que vous recevez à cause de ce compte.

Ce qui reste : vos signalements d’adresses, sans leurs commentaires, sous un
identifiant aléatoire qui ne mène plus à personne. Un site auquel vous vous
êtes connecté garde ce que vous l’avez laissé lire ; adressez-vous à lui.

Si ce n’était pas vous, écrivez à l’exploitant du service. Vous pouvez vous
inscrire de nouveau à tout moment.${goodbye(service)}`,
  }),
  test: ({ link, service }) => ({
    subject: 'Un essai des courriels',
    text: `L’opérateur du service a envoyé ce courriel pour voir si ses courriels
arrivent. Il n’y a rien à faire. Un courriel qui porte un lien le montre
ainsi :

${link}${goodbye(service)}`,
  }),
};
