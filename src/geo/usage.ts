/**
 * Returns the use and the domain of a provider's addresses by its name: from a table of large providers, then by
 * unambiguous words. Any other provider is unknown, since a wrong use misleads more than none. The names of uses are
 * those of AbuseIPDB, which clients know.
 */

export const usageTypes = [
  'Unknown',
  'Reserved',
  'Military',
  'University/College/School',
  'Library',
  'Government',
  'Content Delivery Network',
  'Data Center/Web Hosting/Transit',
  'Mobile ISP',
  'Fixed Line ISP',
  'Commercial',
  'Organization',
] as const;
/** `Reserved`: not a public address. */
export type UsageType = (typeof usageTypes)[number];

interface ProviderUsage {
  readonly usageType: UsageType;
  /** Registrable domain of the provider; null: not known. */
  readonly domain: string | null;
}

const [cdn, hosting, mobile, fixed] = [
  'Content Delivery Network',
  'Data Center/Web Hosting/Transit',
  'Mobile ISP',
  'Fixed Line ISP',
] as const;

/** The beginning of a name in lower case, the domain, the use. The longest beginning decides. */
const providers: readonly (readonly [name: string, domain: string, usage: UsageType])[] = [
  ['akamai', 'akamai.com', cdn],
  ['cloudflare', 'cloudflare.com', cdn],
  ['fastly', 'fastly.com', cdn],
  ['bunny communications', 'bunny.net', cdn],
  ['bunny technology', 'bunny.net', cdn],
  ['gcore', 'gcore.com', cdn],
  ['g-core labs', 'gcore.com', cdn],
  ['imperva', 'imperva.com', cdn],
  ['amazon.com', 'amazon.com', hosting],
  ['amazon data services', 'amazon.com', hosting],
  ['microsoft corporation', 'microsoft.com', hosting],
  ['google cloud', 'google.com', hosting],
  ['google fiber', 'google.com', fixed],
  ['google llc', 'google.com', hosting],
  ['oracle corporation', 'oracle.com', hosting],
  ['ibm cloud', 'ibm.com', hosting],
  ['hangzhou alibaba', 'alibabagroup.com', hosting],
  ['alibaba', 'alibabagroup.com', hosting],
  ['shenzhen tencent', 'tencent.com', hosting],
  ['tencent', 'tencent.com', hosting],
  ['huawei cloud', 'huaweicloud.com', hosting],
  ['beijing volcano engine', 'volcengine.com', hosting],
  ['byteplus', 'byteplus.com', hosting],
  ['ovh', 'ovhcloud.com', hosting],
  ['hetzner', 'hetzner.com', hosting],
  ['digitalocean', 'digitalocean.com', hosting],
  ['linode', 'linode.com', hosting],
  ['the constant company', 'vultr.com', hosting],
  ['vultr', 'vultr.com', hosting],
  ['contabo', 'contabo.com', hosting],
  ['leaseweb', 'leaseweb.com', hosting],
  ['scaleway', 'scaleway.com', hosting],
  ['online s.a.s', 'scaleway.com', hosting],
  ['ionos', 'ionos.com', hosting],
  ['godaddy', 'godaddy.com', hosting],
  ['rackspace', 'rackspace.com', hosting],
  ['equinix', 'equinix.com', hosting],
  ['m247', 'm247.com', hosting],
  ['datacamp limited', 'datacamp.co.uk', hosting],
  ['hostroyale', 'hostroyale.com', hosting],
  ['psychz', 'psychz.net', hosting],
  ['quadranet', 'quadranet.com', hosting],
  ['colocrossing', 'colocrossing.com', hosting],
  ['hostinger', 'hostinger.com', hosting],
  ['netcup', 'netcup.de', hosting],
  ['strato', 'strato.de', hosting],
  ['aruba s.p.a', 'aruba.it', hosting],
  ['infomaniak', 'infomaniak.com', hosting],
  ['gandi', 'gandi.net', hosting],
  ['upcloud', 'upcloud.com', hosting],
  ['choopa', 'vultr.com', hosting],
  ['dreamhost', 'dreamhost.com', hosting],
  ['unified layer', 'bluehost.com', hosting],
  ['namecheap', 'namecheap.com', hosting],
  ['selectel', 'selectel.ru', hosting],
  ['yandex.cloud', 'yandex.cloud', hosting],
  ['timeweb', 'timeweb.com', hosting],
  ['ucloud', 'ucloud.cn', hosting],
  ['level 3', 'lumen.com', hosting],
  ['cogent communications', 'cogentco.com', hosting],
  ['zayo', 'zayo.com', hosting],
  ['gtt communications', 'gtt.net', hosting],
  ['hurricane electric', 'he.net', hosting],
  ['arelion', 'arelion.com', hosting],
  ['at&t', 'att.com', fixed],
  ['chinanet', 'chinatelecom.com.cn', fixed],
  ['china telecom', 'chinatelecom.com.cn', fixed],
  ['china unicom', 'chinaunicom.com', fixed],
  ['china mobile', 'chinamobile.com', mobile],
  ['china tietong', 'chinamobile.com', fixed],
  ['verizon', 'verizon.com', fixed],
  ['comcast', 'comcast.com', fixed],
  ['charter communications', 'charter.com', fixed],
  ['cox communications', 'cox.com', fixed],
  ['centurylink', 'lumen.com', fixed],
  ['frontier communications', 'frontier.com', fixed],
  ['windstream', 'windstream.com', fixed],
  ['cablevision systems', 'optimum.com', fixed],
  ['mediacom communications', 'mediacomcable.com', fixed],
  ['tds telecom', 'tdstelecom.com', fixed],
  ['t-mobile usa', 't-mobile.com', mobile],
  ['t-mobile', 't-mobile.com', mobile],
  ['korea telecom', 'kt.com', fixed],
  ['sk broadband', 'skbroadband.com', fixed],
  ['sk telecom', 'sktelecom.com', mobile],
  ['lg powercomm', 'lguplus.com', fixed],
  ['lg dacom', 'lguplus.com', fixed],
  ['softbank', 'softbank.jp', fixed],
  ['kddi', 'kddi.com', fixed],
  ['ntt docomo', 'docomo.ne.jp', mobile],
  ['ntt communications', 'ntt.com', fixed],
  ['biglobe', 'biglobe.co.jp', fixed],
  ['internet initiative japan', 'iij.ad.jp', fixed],
  ['sony network communications', 'sonynetwork.co.jp', fixed],
  ['chunghwa telecom', 'cht.com.tw', fixed],
  ['bharti airtel', 'airtel.in', mobile],
  ['reliance jio', 'jio.com', mobile],
  ['bharat sanchar', 'bsnl.co.in', fixed],
  ['vodafone idea', 'myvi.in', mobile],
  ['telstra', 'telstra.com.au', fixed],
  ['tpg internet', 'tpg.com.au', fixed],
  ['deutsche telekom', 'telekom.de', fixed],
  ['vodafone gmbh', 'vodafone.de', fixed],
  ['vodafone libertel', 'vodafone.nl', mobile],
  ['vodafone italia', 'vodafone.it', fixed],
  ['vodafone espana', 'vodafone.es', fixed],
  ['vodafone limited', 'vodafone.co.uk', mobile],
  ['telefonica germany', 'telefonica.de', mobile],
  ['telefonica de espana', 'telefonica.es', fixed],
  ['telefonica brasil', 'vivo.com.br', fixed],
  ['1&1 versatel', '1und1.net', fixed],
  ['orange s.a', 'orange.fr', fixed],
  ['orange espagne', 'orange.es', fixed],
  ['orange polska', 'orange.pl', fixed],
  ['societe francaise du radiotelephone', 'sfr.fr', fixed],
  ['free sas', 'free.fr', fixed],
  ['free mobile', 'free.fr', mobile],
  ['bouygues telecom', 'bouyguestelecom.fr', fixed],
  ['proximus', 'proximus.be', fixed],
  ['telenet', 'telenet.be', fixed],
  ['kpn', 'kpn.com', fixed],
  ['odido', 'odido.nl', mobile],
  ['british telecommunications', 'bt.com', fixed],
  ['virgin media', 'virginmedia.com', fixed],
  ['sky uk', 'sky.com', fixed],
  ['talktalk', 'talktalk.co.uk', fixed],
  ['ee limited', 'ee.co.uk', mobile],
  ['telecom italia', 'tim.it', fixed],
  ['fastweb', 'fastweb.it', fixed],
  ['wind tre', 'windtre.it', mobile],
  ['swisscom', 'swisscom.ch', fixed],
  ['sunrise gmbh', 'sunrise.ch', fixed],
  ['a1 telekom', 'a1.net', fixed],
  ['telia', 'teliacompany.com', fixed],
  ['tele2', 'tele2.com', mobile],
  ['telenor', 'telenor.com', fixed],
  ['tdc holding', 'tdc.dk', fixed],
  ['dna oyj', 'dna.fi', fixed],
  ['elisa oyj', 'elisa.fi', fixed],
  ['turk telekom', 'turktelekom.com.tr', fixed],
  ['turkcell', 'turkcell.com.tr', mobile],
  ['pjsc rostelecom', 'rt.ru', fixed],
  ['pjsc megafon', 'megafon.ru', mobile],
  ['mts pjsc', 'mts.ru', mobile],
  ['bell canada', 'bell.ca', fixed],
  ['rogers communications', 'rogers.com', fixed],
  ['shaw communications', 'shaw.ca', fixed],
  ['telus', 'telus.com', fixed],
  ['videotron', 'videotron.com', fixed],
  ['uninet s.a', 'telmex.com', fixed],
  ['vnpt', 'vnpt.com.vn', fixed],
  ['viettel', 'viettel.com.vn', fixed],
  ['saudi telecom', 'stc.com.sa', fixed],
  ['emirates telecommunications', 'etisalat.ae', fixed],
  ['mtn sa', 'mtn.co.za', mobile],
  ['safaricom', 'safaricom.co.ke', mobile],
  ['space exploration technologies', 'starlink.com', fixed],
  ['united states department of defense', 'defense.gov', 'Military'],
  ['dod network', 'defense.gov', 'Military'],
  ['headquarters, usaisc', 'army.mil', 'Military'],
  ['united states postal service', 'usps.com', 'Government'],
  ['national aeronautics and space', 'nasa.gov', 'Government'],
  ['usda', 'usda.gov', 'Government'],
  ['apple inc', 'apple.com', 'Commercial'],
  ['ford motor', 'ford.com', 'Commercial'],
  ['mercedes-benz', 'mercedes-benz.com', 'Commercial'],
  ['eli lilly', 'lilly.com', 'Commercial'],
  ['wal-mart', 'walmart.com', 'Commercial'],
  ['surf b.v', 'surf.nl', 'University/College/School'],
  ['jisc', 'jisc.ac.uk', 'University/College/School'],
  ['renater', 'renater.fr', 'University/College/School'],
  ['consortium garr', 'garr.it', 'University/College/School'],
  ['switch', 'switch.ch', 'University/College/School'],
  ['heanet', 'heanet.ie', 'University/College/School'],
  ['verein zur foerderung eines deutschen forschungsnetzes', 'dfn.de', 'University/College/School'],
  ['ripe network', 'ripe.net', 'Organization'],
];

/** Looked at in this order, in the name in lower case without accents. */
const rules: readonly (readonly [UsageType, RegExp])[] = [
  ['Organization', /\b(foundation|salvation army|red cross)\b/],
  ['Commercial', /\b(bank|banco|banque|credit union|sparkasse)\b/],
  ['Military', /\b(ministry of defen[cs]e|army|navy|air force|armed forces|military)\b/],
  [
    'University/College/School',
    /\b(universi\w+|univ|uniwersytet\w*|universid\w+|college|schools?|academ\w+|institut\w* of technology|polytech\w*|politec\w*|politechnika|hochschule|fachhochschule|ecole|escola|escuela|education and research|research and education)\b/,
  ],
  ['Library', /\b(library|libraries|biblio\w+)\b/],
  [
    'Government',
    /\b(government|ministry of|ministerio|ministere|ministerstvo|municipality|municipio|prefeitura|prefecture|city of|county of|state of|county government|tribunal|secretaria de estado|federal agency|parliament)\b/,
  ],
  [cdn, /\b(cdn\d*|content delivery)\b/],
  [
    hosting,
    /\b(hosting\w*|hosted|webhost\w*|hoster|\w{2,}host|host(winds|gator)|cloud|data ?cent(er|re)s?|datacent\w+|colo|colocation|vps|dedicated servers?|servers|internet exchange|ix)\b/,
  ],
  [mobile, /\b(mobile|mobil|movil\w*|wireless|cellular|gsm|cell c)\b/],
  [
    fixed,
    /\b(tele(c|k)om\w*|telefon\w*|telephone|teleph\w+|telco|broadband|banda ancha|cable\w*|cabo|fiber\w*|fibre|fibra|wifi|wi-fi|dsl|isp|internet service\w*|provedor\w*|provedores)\b/,
  ],
  [
    'Commercial',
    /\b(insurance|seguros|assurance|versicherung\w*|airlines?|airways|pharma\w*|automotive|motors?|retail|hotels?|casino|supermarkets?|brewery)\b/,
  ],
];

const byFirstWord = new Map<string, (typeof providers)[number][]>();
for (const row of providers) {
  const first = firstWordOf(row[0]);
  byFirstWord.set(first, [...(byFirstWord.get(first) ?? []), row]);
}

function firstWordOf(name: string): string {
  return /^[^\s,.]*/.exec(name)![0];
}

const unknown: ProviderUsage = { usageType: 'Unknown', domain: null };

/** Says what is known by the name of a provider. */
export function usageOf(provider: string): ProviderUsage {
  const name = provider.toLowerCase().normalize('NFD').replace(/\p{M}/gu, '');
  const known = (byFirstWord.get(firstWordOf(name)) ?? [])
    .filter(([beginning]) => isBeginning(name, beginning))
    .toSorted(([a], [b]) => b.length - a.length)[0];
  if (known !== undefined) return { usageType: known[2], domain: known[1] };
  const rule = rules.find(([, words]) => words.test(name));
  return rule === undefined ? unknown : { usageType: rule[0], domain: null };
}

/** Whole words alone. */
function isBeginning(name: string, beginning: string): boolean {
  return name.startsWith(beginning) && !/[a-z0-9]/.test(name.charAt(beginning.length));
}
