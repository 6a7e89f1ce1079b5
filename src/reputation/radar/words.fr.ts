/** The French sentences of the radar. */

import type { radarEn } from './words.en.ts';

export const radarFr: typeof radarEn = {
  title: 'Radar',
  description: 'Ce que voit ce serveur : les adresses connues, et les signalements à mesure.',
  live: 'En direct',
  refresh: 'Actualiser',
  updated: (moment) => `État : ${moment}`,
  numbers: {
    label: 'En chiffres',
    known: 'adresses et réseaux connus',
    knownNote: (v6) => `dont ${v6} en IPv6`,
    blocked: 'malveillants parmi eux',
    blockedNote: (suspect) => `${suspect} suspects`,
    reports: 'signalements en 24 heures',
    reportsNote: (week) => `${week} en 7 jours`,
    noneYet: 'aucun encore',
    checks: 'vérifications par seconde',
    checksNote: (minute) => `${minute} dans la dernière minute entière`,
    lists: (count) => (count <= 1 ? 'liste chargée' : 'listes chargées'),
    listsNote: (ago) => `la plus récente ${ago}`,
  },
  map: {
    title: 'Tout IPv4, un point par /16',
    hint: 'Courbe de Hilbert · choisissez un carré pour y entrer',
    alt: 'Carte d’IPv4 le long de la courbe de Hilbert : 256 carrés, un par /8, de 256 points chacun. Le tableau ci-dessous dit la même chose.',
    none: 'Il n’y a pas de carte en ce moment. Réessayez plus tard.',
    legend: { known: 'connu', suspect: 'suspect', malicious: 'malveillant' },
    shades: 'plus vif : plus nombreux',
    square: (network, known, suspect, malicious) =>
      `${network} : ${known} connus, ${suspect} suspects, ${malicious} malveillants`,
    tableLabel: 'La carte en tableau',
    tableCaption: 'Entrées par réseau',
    columns: { network: 'Réseau', all: 'Total', suspect: 'Suspects', malicious: 'Malveillants' },
  },
  zoom: {
    title: (network) => `Carte de ${network}`,
    heading: 'Carte de',
    pieces: (length) => `Ses 256 réseaux en /${length}`,
    hint: 'Placés le long de la courbe de Hilbert, comme sur la carte de tout.',
    empty: 'On n’en sait rien.',
    whole: (name) => `Une entrée le contient en entier : ${name}.`,
    part: 'Il a plus d’entrées que celles comptées ici.',
    back: 'Retour',
    list: 'Tout ce qu’on en sait',
  },
  curve: {
    title: 'Signalements',
    periods: { quarter: '24 heures', hour: '7 jours', day: '90 jours' },
    label: 'Période',
    summary: (count, formatted, period) =>
      count <= 1
        ? `${formatted} signalement en ${period}`
        : `${formatted} signalements en ${period}`,
    table: 'Les chiffres en tableau',
    columns: { time: 'Depuis (UTC)', reports: 'Signalements' },
  },
  latest: {
    title: 'Derniers signalements',
    note: 'commentaires masqués',
    none: 'Personne n’a encore rien signalé.',
    seconds: (seconds) => `il y a ${seconds} s`,
    minutes: (minutes) => `il y a ${minutes} min`,
  },
  networks: 'Réseaux',
  countries: 'Pays',
  categories: 'Catégories',
  noReports: 'Aucun signalement dans cette période.',
  unknown: 'Inconnu',
};
