/** The French sentences of the CAPTCHA’s own page. */

import type { Words } from './words.en.ts';

export const fr: Words = {
  captcha: {
    title: 'Un mot qui n’existe qu’en mouvement',
    lede: 'Deux nuages de points vont en sens contraires. L’œil voit des lettres là où ils se séparent ; arrêtez l’image, et il ne reste que du bruit.',
    description:
      'Essayez le CAPTCHA en mouvement : un mot que l’œil voit tant qu’il bouge et qu’aucune image fixe ne contient.',
    tryTitle: 'Essayez',
    another: 'Un autre défi',
    freeze: 'Figer une image',
    play: 'Relancer le mouvement',
    submit: 'Vérifier ma réponse',
    right: 'C’est juste. Un site vous laisserait passer.',
    wrong: 'Faux, ou trop tard. Chaque défi n’accepte qu’une réponse : en voici un autre.',
    fresh: 'Voici un autre défi.',
    expired: 'Ce défi a expiré. Demandez-en un autre.',
    howTitle: 'Comment ça marche',
    how: [
      'Chaque image seule est du pur hasard. Figez-en une et regardez.',
      'Le mot est tiré au hasard pour chaque défi et ne quitte pas le serveur avant votre réponse.',
      'Un défi accepte une seule réponse et vit deux minutes.',
      'Qui ne perçoit pas le mouvement peut écouter.',
    ],
    honest:
      'Il arrête l’automatisation de masse, pas un attaquant décidé : un programme qui lit des images fixes ne lit rien, mais celui qui suit le mouvement lit presque tous les mots. Une image que les gens lisent et qu’un tel programme ne lit pas est impossible. Les limites par navigateur et par réseau, la réputation de l’adresse et les reçus à usage unique portent le reste.',
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
      'Une réponse fausse coûte plus qu’une juste : 60 réponses par minute et par adresse, 20 si elles sont fausses.',
      'La réponse est {"ok":true} ou {"ok":false}, quelle que soit l’erreur.',
    ],
    sitesCode: 'Les appels de base',
  },
};
