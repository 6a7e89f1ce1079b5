/** The sentences of the CAPTCHA’s own page in English and French, with those of every page. */

import { wordsOf } from '../web/language.ts';

const en = {
  captcha: {
    title: 'A word that exists only in motion',
    lede: 'Two clouds of dots drift apart. Your eye sees letters where they part. Stop the picture, and only noise is left.',
    description: 'Try the motion CAPTCHA: your eye sees a moving word that no single frame shows.',
    tryTitle: 'Try it',
    submit: 'Check my answer',
    right: 'Right. A site would let you through now.',
    wrong: 'Wrong, or too late. Here is a new challenge.',
    howTitle: 'How it works',
    how: [
      'Each frame by itself is pure noise. Freeze one and look.',
      'Every challenge has a random word. It stays on the server until you answer.',
      'Most visitors never see one: their browser works for a second instead.',
      'A challenge takes one answer and expires after two minutes.',
      'Can’t see motion? Listen instead.',
    ],
    honest:
      'It stops mass automation, not a determined attacker. Still frames reveal nothing. A program that tracks motion can read most words. Limits per browser and network, the address’s reputation and single-use receipts do the rest.',
    sitesTitle: 'For your site',
    sitesText:
      'The widget adds a challenge to your form. Once solved, it leaves a receipt, which your server redeems. You never have to trust the browser.',
    widgetTitle: '1. The form',
    widgetText:
      'A script under 6 KB, and an element with your site key. The key is public and belongs to your account.',
    widgetCode: 'In your page',
    widgetTry: 'Try the widget here',
    widgetDone: 'The widget made a receipt. The command for your server now contains it.',
    widgetNoKey: 'Ask the operator for a site key:',
    redeemTitle: '2. Your server',
    redeemText:
      'Redeem the receipt with an API key of the same account, once and within 5 minutes. Libraries for reCAPTCHA, hCaptcha and Turnstile use siteverify. A receipt works once there too.',
    redeemCode: 'On your server',
    callsTitle: 'Or call the API directly',
    sitesPoints: [
      'You need no key. The browser fetches the challenge, and your form’s server sends token and answer.',
      'The picture has 150 by 50 dots. Show it at 450 by 150 pixels with image-rendering: pixelated.',
      'Offer the sound too. Let people who ask for less motion choose first.',
      'A browser may send 60 answers a minute, or 20 wrong ones. Its network may send 900.',
      'The answer is {"ok":true} or {"ok":false}, with no reason given.',
    ],
    sitesCode: 'The calls',
  },
};

const fr: typeof en = {
  captcha: {
    title: 'Un mot qui n’existe qu’en mouvement',
    lede: 'Deux nuages de points vont en sens opposés. L’œil voit des lettres là où ils se séparent. Arrêtez l’image : il ne reste que du bruit.',
    description:
      'Essayez le CAPTCHA en mouvement : l’œil voit un mot qu’aucune image fixe ne montre.',
    tryTitle: 'Essayez',
    submit: 'Vérifier ma réponse',
    right: 'C’est juste. Un site vous laisserait passer.',
    wrong: 'Réponse fausse, ou trop tardive. Voici un nouveau défi.',
    howTitle: 'Comment ça marche',
    how: [
      'Seule, chaque image n’est que du bruit. Figez-en une et regardez.',
      'Chaque défi cache un mot tiré au hasard. Il reste sur le serveur jusqu’à votre réponse.',
      'La plupart des visiteurs n’en voient pas : leur navigateur travaille une seconde à la place.',
      'Un défi accepte une seule réponse et expire après deux minutes.',
      'Vous ne percevez pas le mouvement ? Écoutez.',
    ],
    honest:
      'Il arrête l’automatisation de masse, pas un attaquant déterminé. Une image fixe ne révèle rien. Un programme qui suit le mouvement lit presque tout. Les limites par navigateur et par réseau, la réputation de l’adresse et les reçus à usage unique font le reste.',
    sitesTitle: 'Pour votre site',
    sitesText:
      'Le widget ajoute un défi à votre formulaire. Une fois résolu, il laisse un reçu que votre serveur échange. Vous n’avez jamais à faire confiance au navigateur.',
    widgetTitle: '1. Le formulaire',
    widgetText:
      'Un script de moins de 6 ko, et un élément avec votre clé de site. La clé est publique et appartient à votre compte.',
    widgetCode: 'Dans votre page',
    widgetTry: 'Essayer le widget ici',
    widgetDone: 'Le widget a créé un reçu. La commande de votre serveur le contient maintenant.',
    widgetNoKey: 'Demandez une clé de site à l’opérateur :',
    redeemTitle: '2. Votre serveur',
    redeemText:
      'Échangez le reçu avec une clé d’API du même compte, une fois et dans les 5 minutes. Les bibliothèques pour reCAPTCHA, hCaptcha et Turnstile utilisent siteverify. Un reçu n’y sert qu’une fois aussi.',
    redeemCode: 'Sur votre serveur',
    callsTitle: 'Ou appelez directement l’API',
    sitesPoints: [
      'Aucune clé n’est nécessaire. Le navigateur demande le défi. Votre serveur envoie le jeton et la réponse.',
      'L’image a 150 points sur 50. Affichez-la en 450 pixels sur 150 avec image-rendering: pixelated.',
      'Proposez aussi le son. Laissez d’abord choisir ceux qui demandent moins de mouvement.',
      'Un navigateur a droit à 60 réponses par minute, ou 20 fausses. Son réseau a droit à 900.',
      'La réponse est {"ok":true} ou {"ok":false}, sans explication.',
    ],
    sitesCode: 'Les appels de base',
  },
};

export const { translationsFor, frameText } = wordsOf({ en, fr });
export type Translations = ReturnType<typeof translationsFor>;
