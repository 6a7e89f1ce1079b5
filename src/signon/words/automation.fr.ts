/** Les phrases françaises sur les programmes qui agissent pour un compte. */

import type { AutomationCatalogue } from './automation.en.ts';

export const automationFr: AutomationCatalogue = {
  namedKeys: {
    title: 'Clés nommées',
    text: 'Une pour chaque pare-feu, capteur ou script, chacune pour son seul usage. Remplacer votre clé d’API n’en touche aucune.',
    none: 'Vous n’avez pas encore de clé nommée.',
    columns: {
      name: 'Nom',
      scopes: 'Pour',
      created: 'Créée',
      used: 'Dernier usage',
      actions: 'Ce que vous pouvez faire',
    },
    neverUsed: 'Jamais',
    name: 'Nom',
    nameHint:
      'Lettres, chiffres, points, tirets et tirets bas, 64 au plus, par exemple firewall-1.',
    nameError:
      'De 1 à 64 lettres, chiffres, points, tirets et tirets bas ; le premier n’est pas un signe.',
    nameTaken: 'Vous avez déjà une clé de ce nom.',
    scopes: 'Ce qu’elle peut faire',
    scopesError: 'Choisissez-en au moins une.',
    scope: {
      check: 'vérifier des adresses',
      report: 'signaler des abus et retirer des signalements',
      bouncer: 'obtenir les décisions comme bouncer',
      agent: 'signaler comme agent',
      mail: 'vérifier les connexions comme serveur de messagerie, et signaler celles qui échouent',
    },
    create: 'Créer la clé',
    full: 'Vous avez autant de clés nommées qu’il peut y en avoir. Retirez-en une d’abord.',
    shownOnce: 'Le texte de cette clé n’est montré que cette fois. Copiez-le maintenant.',
    rename: 'Renommer',
    remove: 'Retirer',
    renameTitle: 'Renommer une clé',
    renameText: (name) => `La clé ${name} continue de fonctionner sous son nouveau nom.`,
    newName: 'Nouveau nom',
  },
  reports: {
    lede: 'Ce que vous avez signalé d’adresses, par clé et par formulaire, le plus récent d’abord. Les signalements disparaissent après un an.',
    caption: 'Mes signalements',
    none: 'Vous n’avez encore rien signalé.',
    noMore: 'Il n’y a pas de signalement plus ancien.',
    columns: {
      address: 'Adresse',
      at: 'Quand',
      categories: 'Catégories',
      comment: 'Commentaire',
      actions: 'Ce que vous pouvez faire',
    },
    takeBack: 'Retirer',
    older: 'Signalements plus anciens',
    newest: 'Signalements les plus récents',
    sureTitle: 'Retirer ce signalement ?',
    sureText: (address) =>
      `Tout ce que vous avez signalé de ${address} disparaît, et sa note est calculée sans cela. Cela coûte un signalement de votre quota et aucune confiance.`,
    keep: 'Le garder',
  },
  webhooks: {
    lede: 'Votre serveur apprend quand une adresse ou un réseau à vous est listé, et quand il ne l’est plus.',
    makeTitle: 'Nouveau webhook',
    text: 'Nous envoyons un POST signé quand une note atteint le seuil, et un autre quand elle repasse dessous.',
    docs: 'Comment en vérifier un',
    url: 'Adresse de votre serveur',
    urlHint: 'https, joignable depuis Internet. Les redirections ne sont pas suivies.',
    watches: 'Ce qui est surveillé',
    watchesHint:
      'Jusqu’à 20 adresses et réseaux, séparés par des espaces ; réseaux IPv4 à partir de /16, IPv6 à partir de /32. D’un réseau, la note la plus haute compte.',
    threshold: 'Seuil',
    thresholdHint: 'Une note de 1 à 100 ; à partir de 75 une adresse passe pour malveillante.',
    errors: {
      url: 'Ce n’est pas une adresse http(s) sur Internet.',
      watches:
        'Des adresses et des réseaux seulement, comme 192.0.2.7 ou 198.51.100.0/24 ; 20 au plus.',
      threshold: 'Un nombre entier de 1 à 100.',
    },
    create: 'Créer le webhook',
    full: 'Vous avez autant de webhooks qu’il peut y en avoir. Retirez-en un d’abord.',
    secretTitle: 'Secret du webhook',
    secretShown:
      'Avec ce secret votre serveur vérifie ce qu’il reçoit. Il n’est montré que cette fois : copiez-le maintenant.',
    listed: 'listé',
    delivered: 'Livrés',
    waiting: (waiting, dropped) => `en attente ${waiting}, abandonnés ${dropped}`,
    last: 'Dernière livraison',
    notTried: 'Aucune encore',
    answered: (status) => `votre serveur a répondu ${status}`,
    outcomes: {
      timeout: 'pas de réponse en 10 secondes',
      unreachable: 'votre serveur n’a pas été joint',
      private: 'l’adresse mène à un réseau privé, où rien n’est envoyé',
      secret: 'le secret n’est plus lisible ; recréez le webhook',
    },
    retry: (moment) => `Nouvel essai après le ${moment}`,
    test: 'Envoyer un test',
    remove: 'Retirer',
  },
};
