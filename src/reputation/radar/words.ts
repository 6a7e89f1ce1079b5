/** The sentences of the radar, English and French. */

import { isSingularInFrench } from '../../core/language.ts';

export const radarEn = {
  title: 'Radar',
  description: 'What this server sees: known addresses, and reports as they arrive.',
  live: 'Live',
  refresh: 'Refresh',
  updated: (moment: string) => `As of ${moment}`,
  numbers: {
    label: 'In numbers',
    known: 'addresses and networks known',
    knownNote: (v6: string, good: string) => `${v6} IPv6, ${good} known good`,
    blocked: 'of them malicious',
    blockedNote: (suspect: string) => `${suspect} suspect`,
    reports: (count: number): string =>
      count === 1 ? 'report in 24 hours' : 'reports in 24 hours',
    reportsNote: (week: string) => `${week} in 7 days`,
    noneYet: 'none yet',
    checks: (count: number): string => (count === 1 ? 'check in 24 hours' : 'checks in 24 hours'),
    checksNote: (minute: string) => `${minute} in the last full minute`,
    lists: (count: number): string => (count === 1 ? 'list loaded' : 'lists loaded'),
    listsNote: (ago: string) => `newest loaded ${ago}`,
  },
  map: {
    title: 'All of IPv4, one dot per /16',
    hint: 'Select a square to zoom in',
    alt: 'Map of IPv4 along the Hilbert curve: 256 squares, one per /8, with 256 dots each. The table below shows the same.',
    none: 'The map is not ready. Try again later.',
    legend: { known: 'known', suspect: 'suspect', malicious: 'malicious' },
    shades: 'Shades: from 1, 4 and 32 addresses',
    square: (network: string, known: string, suspect: string, malicious: string) =>
      `${network}: ${known} known, ${suspect} suspect, ${malicious} malicious`,
    tableLabel: 'Show the map as a table',
    tableCaption: 'Entries by network',
    columns: { network: 'Network', all: 'All', suspect: 'Suspect', malicious: 'Mali\u00adcious' },
  },
  zoom: {
    title: (network: string) => `Map of ${network}`,
    heading: 'Map of',
    covered: 'A wider network on a list or rule covers all of it.',
    pieces: (length: number) => `One square per /${length}`,
    known: (count: number) => `${count} of 256 known`,
    hint: 'Select a square to zoom in. Consecutive networks lie side by side.',
    empty: 'Nothing is known here.',
    part: 'It has more entries than this count shows.',
    list: 'Show its addresses',
  },
  curve: {
    title: 'Reports',
    periods: { quarter: '24 hours', hour: '7 days', day: '90 days' },
    label: 'Period',
    summary: (count: number, formatted: string, period: string) =>
      count === 1 ? `1 report in ${period}` : `${formatted} reports in ${period}`,
    table: 'Show as a table',
    columns: { time: 'From (UTC)', reports: 'Reports' },
  },
  latest: {
    title: 'Latest reports',
    note: 'comments masked',
    none: 'Nobody has reported anything yet.',
    connect: 'Connect fail2ban',
    seconds: (seconds: number) => `${seconds} s ago`,
    minutes: (minutes: number) => `${minutes} min ago`,
  },
  worst: {
    title: 'Most malicious networks',
    note: 'IPv4, by /16',
    none: 'Nothing malicious is known.',
    suspect: (count: string) => `${count} suspect`,
  },
  lists: {
    title: 'Lists',
    note: 'last refreshed',
    none: 'No list is loaded yet.',
    kinds: { seed: 'bad addresses', anon: 'anonymous exits' },
  },
  networks: 'Reports by network',
  countries: 'Reports by country',
  categories: 'Reports by category',
  noReports: 'No reports in this period.',
  unknown: 'Unknown',
};

const agreed = (count: number | string, word: string) =>
  `${count} ${isSingularInFrench(count) ? word : `${word}s`}`;

export const radarFr: typeof radarEn = {
  title: 'Radar',
  description: 'Ce que voit ce serveur : les adresses connues et les derniers signalements.',
  live: 'En direct',
  refresh: 'Actualiser',
  updated: (moment) => `État : ${moment}`,
  numbers: {
    label: 'En chiffres',
    known: 'adresses et réseaux connus',
    knownNote: (v6, good) =>
      `dont ${v6} en IPv6, ${good} ${isSingularInFrench(good) ? 'réputé sûr' : 'réputés sûrs'}`,
    blocked: 'dont malveillants',
    blockedNote: (suspect) => agreed(suspect, 'suspect'),
    reports: (count) => (count < 2 ? 'signalement en 24 heures' : 'signalements en 24 heures'),
    reportsNote: (week) => `${week} en 7 jours`,
    noneYet: 'aucune encore',
    checks: (count) => (count < 2 ? 'vérification en 24 heures' : 'vérifications en 24 heures'),
    checksNote: (minute) => `${minute} dans la dernière minute entière`,
    lists: (count) => (count <= 1 ? 'liste chargée' : 'listes chargées'),
    listsNote: (ago) => `la plus récente ${ago}`,
  },
  map: {
    title: 'Tout IPv4, un point par /16',
    hint: 'Choisissez un carré pour agrandir',
    alt: 'Carte d’IPv4 le long de la courbe de Hilbert : 256 carrés, un par /8, de 256 points chacun. Le tableau ci-dessous dit la même chose.',
    none: 'La carte n’est pas prête. Réessayez plus tard.',
    legend: { known: 'connu', suspect: 'suspect', malicious: 'malveillant' },
    shades: 'Nuances : dès 1, 4 et 32 adresses',
    square: (network, known, suspect, malicious) =>
      `${network} : ${agreed(known, 'connue')}, ${agreed(suspect, 'suspecte')}, ${agreed(malicious, 'malveillante')}`,
    tableLabel: 'Afficher la carte en tableau',
    tableCaption: 'Entrées par réseau',
    columns: {
      network: 'Réseau',
      all: 'Total',
      suspect: 'Sus\u00adpectes',
      malicious: 'Mal\u00adveil\u00adlantes',
    },
  },
  zoom: {
    title: (network) => `Carte de ${network}`,
    heading: 'Carte de',
    covered: 'Un réseau plus large, d’une liste ou d’une règle, le couvre.',
    pieces: (length) => `Un carré par /${length}`,
    known: (count) => `${agreed(count, 'connu')} sur 256`,
    hint: 'Choisissez un carré pour agrandir. Les réseaux qui se suivent se touchent.',
    empty: 'Rien n’est connu ici.',
    part: 'Il contient plus d’entrées que ce décompte.',
    list: 'Voir ses adresses',
  },
  curve: {
    title: 'Signalements',
    periods: { quarter: '24 heures', hour: '7 jours', day: '90 jours' },
    label: 'Période',
    summary: (count, formatted, period) =>
      count <= 1
        ? `${formatted} signalement en ${period}`
        : `${formatted} signalements en ${period}`,
    table: 'Afficher le tableau',
    columns: { time: 'Depuis (UTC)', reports: 'Signalements' },
  },
  latest: {
    title: 'Derniers signalements',
    note: 'commentaires masqués',
    none: 'Personne n’a encore rien signalé.',
    connect: 'Intégrer fail2ban',
    seconds: (seconds) => `il y a ${seconds} s`,
    minutes: (minutes) => `il y a ${minutes} min`,
  },
  worst: {
    title: 'Réseaux les plus malveillants',
    note: 'IPv4, par /16',
    none: 'Rien de malveillant n’est connu.',
    suspect: (count) => agreed(count, 'suspecte'),
  },
  lists: {
    title: 'Listes',
    note: 'dernière mise à jour',
    none: 'Aucune liste n’est encore chargée.',
    kinds: { seed: 'adresses malveillantes', anon: 'sorties anonymes' },
  },
  networks: 'Signalements par réseau',
  countries: 'Signalements par pays',
  categories: 'Signalements par catégorie',
  noReports: 'Aucun signalement dans cette période.',
  unknown: 'Inconnu',
};
