/** French mails. A line holds at most 78 characters, links aside. */

import type { MailCatalogue } from './catalogue.ts';

const goodbye = (service: string) => `\n\n-- \n${service}\n`;

export const fr: MailCatalogue = {
  verify: ({ link, service }) => ({
    subject: 'Confirmez votre adresse e-mail',
    text: `Bienvenue ! Confirmez votre adresse e-mail en ouvrant ce lien dans les
24 heures :

${link}

Le lien ne sert qu’une fois. Si vous ne vous êtes pas inscrit, ignorez ce
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
  passwordChanged: ({ link, service }) => ({
    subject: 'Votre mot de passe a été modifié',
    text: `Le mot de passe de votre compte a été modifié et toutes les autres sessions
sont terminées.

Si ce n’était pas vous, choisissez aussitôt un nouveau mot de passe :

${link}${goodbye(service)}`,
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
  confirmEmail: ({ link, service }) => ({
    subject: 'Confirmez votre nouvelle adresse e-mail',
    text: `Ouvrez ce lien dans les 24 heures pour utiliser cette adresse e-mail avec
votre compte :

${link}

Le lien ne sert qu’une fois. Si vous n’avez rien demandé, ignorez ce
message.${goodbye(service)}`,
  }),
  emailChanged: ({ service }) => ({
    subject: 'Votre adresse e-mail a été modifiée',
    text: `L’adresse e-mail de votre compte a été modifiée. Les messages vont désormais à
la nouvelle. Si ce n’était pas vous, écrivez à l’exploitant du
service.${goodbye(service)}`,
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
};
