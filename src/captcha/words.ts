/** The sentences of the CAPTCHA’s own page in English and French, with those of every page. */

import { wordsOf } from '../web/language.ts';

const en = {
  captcha: {
    title: 'A word that exists only in motion',
    lede: 'Two clouds of dots move in opposite directions. Your eye sees letters where they part; stop the picture, and nothing is left but noise.',
    description:
      'Try the motion CAPTCHA: a word that your eye sees while it moves and that no single frame holds.',
    tryTitle: 'Try it',
    submit: 'Check my answer',
    right: 'Right. A site would let you through now.',
    wrong: 'Not right, or too late. Each challenge takes one answer, so here is another.',
    howTitle: 'How it works',
    how: [
      'Each frame alone is evenly random. Freeze one and look.',
      'The word is drawn at random for each challenge and never leaves the server before you answer.',
      'Most visitors never see one: their browser works for a second instead.',
      'A challenge takes one answer and lives for two minutes.',
      'Can’t see motion? Listen instead.',
    ],
    honest:
      'It stops mass automation, not a determined attacker: a program that reads stills reads nothing, but one that follows motion reads nearly every word. A picture that people can read and such a program cannot is impossible. Limits for each browser and network, the reputation of the address and receipts that are good once carry the rest.',
    sitesTitle: 'For your site',
    sitesText:
      'The widget puts a challenge into your form. A solved one leaves a receipt there, and your server redeems it: nothing that a browser says has to be believed.',
    widgetTitle: '1. The form',
    widgetText:
      'A script of under 6 KB, and an element with your site key. The key is public and belongs to your account.',
    widgetCode: 'In your page',
    widgetTry: 'Try the widget here',
    widgetDone: 'The widget brought a receipt. It stands in the command for your server now.',
    widgetNoKey: 'You get a site key from the operator:',
    redeemTitle: '2. Your server',
    redeemText:
      'It asks with an API key of the same account, within 5 minutes and once. Libraries for reCAPTCHA, hCaptcha and Turnstile ask at siteverify: a second question about a receipt is refused there too.',
    redeemCode: 'On your server',
    callsTitle: 'Or the bare calls',
    sitesPoints: [
      'No key is needed. Let the browser fetch the challenge; send token and answer from the server that handles your form.',
      'The picture has 150 by 50 dots: show it at 450 by 150 pixels with image-rendering: pixelated, or as wide as there is room.',
      'Offer the sound beside it, and show the choice first to those who ask for less motion.',
      'A browser has 60 answers a minute, 20 if they are wrong; its network has 900.',
      'The answer is {"ok":true} or {"ok":false}, whatever was wrong.',
    ],
    sitesCode: 'The calls beneath',
  },
};

const fr: typeof en = {
  captcha: {
    title: 'Un mot qui n’existe qu’en mouvement',
    lede: 'Deux nuages de points vont en sens contraires. L’œil voit des lettres là où ils se séparent ; arrêtez l’image, et il ne reste que du bruit.',
    description:
      'Essayez le CAPTCHA en mouvement : un mot que l’œil voit tant qu’il bouge et qu’aucune image fixe ne contient.',
    tryTitle: 'Essayez',
    submit: 'Vérifier ma réponse',
    right: 'C’est juste. Un site vous laisserait passer.',
    wrong: 'Faux, ou trop tard. Chaque défi n’accepte qu’une réponse : en voici un autre.',
    howTitle: 'Comment ça marche',
    how: [
      'Chaque image seule est du pur hasard. Figez-en une et regardez.',
      'Le mot est tiré au hasard pour chaque défi et ne quitte pas le serveur avant votre réponse.',
      'La plupart des visiteurs n’en voient pas : leur navigateur travaille une seconde à la place.',
      'Un défi accepte une seule réponse et vit deux minutes.',
      'Qui ne perçoit pas le mouvement peut écouter.',
    ],
    honest:
      'Il arrête l’automatisation de masse, pas un attaquant décidé : un programme qui lit des images fixes ne lit rien. Celui qui suit le mouvement lit presque tous les mots. Une image que les gens lisent et qu’un tel programme ne lit pas est impossible. Les limites par navigateur et par réseau, la réputation de l’adresse et les reçus à usage unique portent le reste.',
    sitesTitle: 'Pour votre site',
    sitesText:
      'Le widget met un défi dans votre formulaire. Résolu, il y laisse un reçu que votre serveur échange : rien de ce que dit un navigateur n’est à croire sur parole.',
    widgetTitle: '1. Le formulaire',
    widgetText:
      'Un script de moins de 6 Ko, et un élément avec votre clé de site. La clé est publique et appartient à votre compte.',
    widgetCode: 'Dans votre page',
    widgetTry: 'Essayer le widget ici',
    widgetDone:
      'Le widget a apporté un reçu. Il figure maintenant dans la commande de votre serveur.',
    widgetNoKey: 'L’opérateur vous donne une clé de site :',
    redeemTitle: '2. Votre serveur',
    redeemText:
      'Il demande avec une clé d’API du même compte, dans les 5 minutes et une seule fois. Les bibliothèques pour reCAPTCHA, hCaptcha et Turnstile demandent à siteverify : une seconde question sur un reçu y est refusée aussi.',
    redeemCode: 'Sur votre serveur',
    callsTitle: 'Ou les appels nus',
    sitesPoints: [
      'Aucune clé n’est nécessaire. Le navigateur demande le défi ; le serveur qui traite votre formulaire envoie le jeton et la réponse.',
      'L’image a 150 points sur 50 : montrez-la en 450 pixels sur 150 avec image-rendering: pixelated, ou sur toute la largeur disponible.',
      'Proposez le son à côté, et montrez d’abord le choix à qui demande moins de mouvement.',
      'Un navigateur a droit à 60 réponses par minute, 20 si elles sont fausses ; son réseau à 900.',
      'La réponse est {"ok":true} ou {"ok":false}, quelle que soit l’erreur.',
    ],
    sitesCode: 'Les appels de base',
  },
};

export const { catalogueFor, frameText } = wordsOf({ en, fr });
export type Catalogue = ReturnType<typeof catalogueFor>;
