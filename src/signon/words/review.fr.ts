/** Les phrases françaises de la vérification qui suit un nouveau mot de passe. */

import type { ReviewCatalogue } from './review.en.ts';

export const reviewFr: ReviewCatalogue = {
  title: 'Passez votre compte en revue',
  lede: 'Vous avez choisi un nouveau mot de passe par e-mail. Si quelqu’un d’autre avait votre compte, il a pu y laisser de quoi revenir. Décidez pour chaque élément ci-dessous. D’ici là, les clés d’accès ne connectent personne et rien d’autre n’est ouvert.',
  allTitle: 'Ce qui ouvre votre compte ou agit en son nom',
  passkeys: 'Clés d’accès',
  keys: 'Clés d’API',
  siteKeys: 'Clés de site pour le CAPTCHA',
  sites: 'Sites connectés',
  webhooks: 'Webhooks',
  passkeyUnnamed: 'Clé d’accès sans nom',
  passkeyFacts: (created, used) => `Ajoutée le ${created}, utilisée le ${used}`,
  keyFacts: (created) => `Créée le ${created}. Elle sert à quiconque la possède.`,
  siteKeyFacts: (created, hosts) => `Créée le ${created}, pour ${hosts}`,
  siteKeyAnyHost: 'tout hôte',
  siteFacts: (allowed, reads) => `Autorisé le ${allowed}. Peut lire : ${reads}`,
  siteReadsNothing: 'rien',
  otherSites: (count) => `${count} autres sites, tous ensemble`,
  webhookFacts: (created, watches) => `Créé le ${created}. Il est averti de : ${watches}`,
  keep: 'Garder',
  remove: 'Retirer',
  undecided: 'Décidez si cet élément reste.',
  failed:
    'Rien n’a encore été modifié : il manque une décision. Ce que vous avez choisi est toujours là.',
  hint: 'Ce que vous retirez cesse aussitôt de fonctionner. Dans le doute, retirez : tout peut être installé de nouveau.',
  factor:
    'Votre second facteur reste activé. Si quelqu’un d’autre peut avoir ses codes de secours, créez-en de nouveaux ensuite, sous Sécurité.',
  submit: 'Appliquer mes décisions et continuer',
};
