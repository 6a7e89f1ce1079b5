/**
 * The document around every page: head, header, navigation, footer. A page gives its title and its
 * body; what differs per request (language, links that exist, nonce) arrives in the frame.
 */

import { type Language, languages } from '../../core/language.ts';
import { requestIdPlaceholder } from '../../http/request/message.ts';
import type { Assets } from '../assets.ts';
import { GateDrawing } from '../components/chart.tsx';
import {
  Button,
  type ButtonKind,
  Form,
  LinkButton,
  LookupForm,
  LookupInput,
} from '../components/form.tsx';
import { Icon, type IconName } from '../components/icon.tsx';
import { Link, MailAddress } from '../components/link.tsx';
import { classes, type Html, renderHtml } from '../html.ts';
import { type Translations, translationsFor } from '../language.ts';
import { formatFor } from './format.ts';

type LinkName = keyof Translations['links'];

/** Pages that exist on this server, by name; a link without a target is not shown. */
export type SiteLinks = Partial<Record<LinkName, string>>;

export interface PageFrame {
  readonly language: Language;
  readonly assets: Pick<Assets, 'url'>;
  readonly links: SiteLinks;
  /** Scheme and host, for addresses that programs of other sites read. */
  readonly origin?: string | undefined;
  /** The operator's own name for the site; that of the program by default. */
  readonly siteName?: string | undefined;
  /** The static file of the operator's own logo; the program's drawing by default. */
  readonly logo?: string | undefined;
  /** The path to which the address box sends `?address=`. Default: `/ip`. */
  readonly lookupAction?: string;
  /** Put on the page's script and style elements; see page-tools.ts. */
  readonly nonce?: string | undefined;
  /** A demo keeps its mails on a page of this machine, whose address only the terminal shows. */
  readonly hasOutbox?: boolean;
  /** The address that shows this page once more, as it was asked for: for a link of the page itself. */
  readonly here?: string | undefined;
  /**
   * The address of the page for the forms of the footer, where the browser may not send it (it is too long, or
   * that of a form's answer). It is made of parsed values, so that nobody can put anything into it.
   */
  readonly back?: string | undefined;
  /** The link of the navigation that leads to this page. */
  readonly current?: LinkName;
  /**
   * The signed-in person, shown in the header with a way to sign out. Only for pages that are made for one
   * visitor and kept by nobody.
   */
  readonly person?: FramePerson | undefined;
  /** On the host of somebody else's site: names this service, and leads nowhere. */
  readonly isGuest?: boolean;
}

export interface FramePerson {
  readonly email: string;
  readonly csrf: string;
  /** Has the console in the header. */
  readonly operator?: boolean;
  /** So many things wait for an operator's decision. */
  readonly waiting?: number;
  /** The person's own wish: translucent surfaces, on every page. */
  readonly prefersGlass: boolean;
}

/** Names and icons for who puts the site on a home screen. */
export const webManifestPath = '/site.webmanifest';

const glassClass = 'is-glass';

interface DocumentOptions {
  readonly title: string;
  readonly description?: string;
  /** Keeps the page out of search engines. */
  readonly noindex?: boolean;
  /** The page has an address box of its own: the header has none. */
  readonly hasOwnLookup?: boolean;
  /** The text that was looked up, for the header's box. */
  readonly lookedUp?: string | undefined;
  /** One form or one message for a visitor on the way to somewhere: no navigation stands around it. */
  readonly isBare?: boolean;
  /** The body says who is signed in, with a way to be another: the foot of a bare page doesn't. */
  readonly namesPerson?: boolean;
  readonly className?: string;
  /** Static file of a script of this page's own. */
  readonly script?: string | undefined;
  readonly body: Html;
}

const headerLinks: readonly LinkName[] = ['radar', 'connect', 'docs'];
const footerLinks: readonly LinkName[] = ['feeds', 'kit', 'manifest', 'guide', 'source'];
const menuIcons: Partial<Record<LinkName, IconName>> = {
  radar: 'globe',
  connect: 'arrow',
  docs: 'book',
};

export function frameText(frame: PageFrame): Translations {
  return translationsFor(frame.language);
}

/** Returns the name of the site as its visitors know it. */
function siteNameOf(frame: PageFrame): string {
  return frame.siteName ?? frameText(frame).site.name;
}

function linkItems(frame: PageFrame, names: readonly LinkName[], hasIcons = false): Html[] {
  const text = frameText(frame);
  return names
    .filter((name) => frame.links[name] !== undefined)
    .map((name) => (
      <li>
        <Link href={frame.links[name]!} aria-current={frame.current === name ? 'page' : undefined}>
          {hasIcons && <Icon name={menuIcons[name]!} />}
          {text.links[name]}
        </Link>
      </li>
    ));
}

/** Returns the tags for previews of a link to the page, in messengers and search engines (ogp.me). */
function previewTags(frame: PageFrame, options: DocumentOptions): Html {
  const { assets, origin, logo = 'icon-512.png' } = frame;
  // Nobody shows an SVG there.
  const picture = logo.endsWith('.png') ? logo : undefined;
  const { title, description } = options;
  return (
    <>
      <meta property="og:type" content="website" />
      <meta property="og:site_name" content={siteNameOf(frame)} />
      <meta property="og:title" content={title} />
      {description && <meta property="og:description" content={description} />}
      {origin && picture && (
        <meta property="og:image" content={`${origin}${assets.url(picture)}`} />
      )}
      <meta name="twitter:card" content="summary" />
    </>
  );
}

function documentHead(frame: PageFrame, options: DocumentOptions): Html {
  const { url } = frame.assets;
  const { logo = 'favicon.svg' } = frame;
  const iconType = logo.endsWith('.png') ? 'image/png' : 'image/svg+xml';
  return (
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <title>
        {options.title} · {siteNameOf(frame)}
      </title>
      {options.description && <meta name="description" content={options.description} />}
      {options.noindex && <meta name="robots" content="noindex" />}
      {options.noindex !== true && previewTags(frame, options)}
      <meta name="color-scheme" content="light dark" />
      <meta name="theme-color" content="#f2f4f3" media="(prefers-color-scheme: light)" />
      <meta name="theme-color" content="#0c131a" media="(prefers-color-scheme: dark)" />
      <link rel="icon" type={iconType} href={url(logo)} />
      {frame.logo === undefined && <link rel="apple-touch-icon" href={url('touch-icon.png')} />}
      {frame.logo?.endsWith('.png') && <link rel="apple-touch-icon" href={url(logo)} />}
      {!frame.isGuest && <link rel="manifest" href={webManifestPath} />}
      <link
        rel="preload"
        as="font"
        type="font/woff2"
        crossorigin="anonymous"
        href={url('fonts/recursive-latin.woff2')}
      />
      <link rel="stylesheet" href={url('app.css')} nonce={frame.nonce} />
      <script src={url('app.js')} defer nonce={frame.nonce} />
      {options.script && <script src={url(options.script)} defer nonce={frame.nonce} />}
    </head>
  );
}

// A page that a browser, a proxy or this server's memory may keep can't know who reads it: it offers the way
// in, by /account, which asks whoever isn't signed in. For who is signed in the person takes its place, on
// public pages when they are finished (web/guard/appearance.ts).

function signInLink(frame: PageFrame, className: string, kind: ButtonKind): Html {
  const { account } = frame.links;
  if (account === undefined) return null;
  return (
    <LinkButton
      label={frameText(frame).links.signIn}
      href={account}
      kind={kind}
      className={className}
    />
  );
}

/** Renders what opens the menu: the person's letter on wide screens, three lines on narrow ones. */
function menuOpener(frame: PageFrame): Html {
  const text = frameText(frame);
  const { person } = frame;
  const label = person ? text.person.signedInAs(person.email) : text.site.menu;
  const { waiting = 0 } = person ?? {};
  return (
    <summary class="site-menu-open" title={label}>
      <span class="visually-hidden">{person ? `${text.site.menu}. ${label}` : label}</span>
      {person && (
        <span class="avatar" aria-hidden="true">
          {person.email.slice(0, 1).toUpperCase()}
        </span>
      )}
      {waiting > 0 && <WaitingCount frame={frame} waiting={waiting} />}
      {person && <Icon name="chevron" />}
      <Icon name="menu" className="only-small" />
      <Icon name="close" className="only-small" />
    </summary>
  );
}

function WaitingCount({ frame, waiting }: { frame: PageFrame; waiting: number }): Html {
  const shown = formatFor(frame.language).number(waiting);
  return (
    <>
      <span class="count" aria-hidden="true">
        {shown}
      </span>
      <span class="visually-hidden">{frameText(frame).person.waiting(shown)}</span>
    </>
  );
}

function personLinks(frame: PageFrame, person: FramePerson): Html {
  const text = frameText(frame);
  return (
    <>
      <p class="menu-who">{person.email}</p>
      <ul class="menu-links">
        <li>
          <a href="/account" aria-current={frame.current === 'account' ? 'page' : undefined}>
            <Icon name="person" />
            {text.links.account}
          </a>
        </li>
        {person.operator && (
          <li>
            <a href="/admin">
              <Icon name="inbox" />
              {text.person.console}
              {person.waiting !== undefined && person.waiting > 0 && (
                <WaitingCount frame={frame} waiting={person.waiting} />
              )}
            </a>
          </li>
        )}
      </ul>
    </>
  );
}

function signOutForm(frame: PageFrame, person: FramePerson): Html {
  return (
    <Form action="/signout" csrf={person.csrf} className="menu-out">
      <Button label={frameText(frame).person.signOut} kind="quiet" icon="out" />
    </Form>
  );
}

/** Matches the parts of a stranger's header, whose place those of a person take. */
const signedOutParts =
  /<a class="[^"]* site-sign-in"[^>]*>.*?<\/a>(.*?)<summary.*?<\/summary>(.*?)<a class="[^"]* menu-sign-in"[^>]*>.*?<\/a>(.*?<\/form>)(.*?<\/details>)/s;

const bodyTag = /<body(?: class="([^"]*)")?>/;

/** A page that was made for everybody, with the person of the frame in its header. */
export function withPersonMenu(markup: string, frame: PageFrame): string {
  const { person } = frame;
  // A page that was made for one person has the menu.
  if (person === undefined || !markup.includes('site-menu is-signed-out')) return markup;
  const appearance = person.prefersGlass
    ? markup.replace(bodyTag, (_tag, own) => `<body class="${classes(own, glassClass)}">`)
    : markup;
  return appearance.replace(
    signedOutParts,
    (_all, before: string, above: string, appearance: string, end: string) =>
      [
        before.replace('site-menu is-signed-out', 'site-menu'),
        renderHtml(menuOpener(frame)),
        above,
        renderHtml(personLinks(frame, person)),
        appearance,
        renderHtml(signOutForm(frame, person)),
        end,
      ].join(''),
  );
}

function brand(frame: PageFrame): Html {
  const { site } = frameText(frame);
  return (
    <Link class="brand" href={frame.links.home ?? '/'} aria-label={site.home(siteNameOf(frame))}>
      <Logo frame={frame} />
      <span>{siteNameOf(frame)}</span>
    </Link>
  );
}

function documentHeader(frame: PageFrame, options: DocumentOptions): Html {
  const text = frameText(frame);
  const { person } = frame;
  const items = linkItems(frame, headerLinks);
  return (
    <header class="site-header">
      <div class="wrap site-header-row">
        {brand(frame)}
        {!options.hasOwnLookup && (
          <form
            class="site-find"
            action={frame.lookupAction ?? '/ip'}
            method="get"
            role="search"
            aria-label={text.lookup.submit}
          >
            <label class="visually-hidden" for="header-lookup">
              {text.lookup.label}
            </label>
            <Icon name="search" />
            <LookupInput
              id="header-lookup"
              placeholder={text.lookup.short}
              value={options.lookedUp}
            />
            <kbd aria-hidden="true">/</kbd>
          </form>
        )}
        {items.length > 0 && (
          <nav class="site-nav" aria-label={text.site.navigation}>
            <ul>{items}</ul>
          </nav>
        )}
        {!person && signInLink(frame, 'site-sign-in', 'secondary')}
        {!options.hasOwnLookup && (
          <a class="site-find-open" href="#header-lookup">
            <Icon name="search" />
            <span class="visually-hidden">{text.lookup.short}</span>
          </a>
        )}
        <details class={person ? 'site-menu' : 'site-menu is-signed-out'}>
          {menuOpener(frame)}
          <div class="menu">
            {items.length > 0 && (
              <nav class="menu-nav" aria-label={text.site.navigation}>
                <ul class="menu-links">{linkItems(frame, headerLinks, true)}</ul>
              </nav>
            )}
            {person ? personLinks(frame, person) : signInLink(frame, 'menu-sign-in', 'primary')}
            {appearanceForm(frame)}
            {person && signOutForm(frame, person)}
          </div>
        </details>
      </div>
    </header>
  );
}

const languageNames: Readonly<Record<Language, string>> = { en: 'English', fr: 'Français' };

/** The chosen theme is known when the page is finished (web/guard/appearance.ts): the style marks it. */
function appearanceForm(frame: PageFrame): Html {
  const { appearance: text } = frameText(frame);
  return (
    <form class="site-looks" method="post" action="/looks">
      {frame.back && <input type="hidden" name="back" value={frame.back} />}
      <fieldset>
        <legend>{text.language}</legend>
        <span class="segment">
          {languages.map((language) => (
            <button
              name="language"
              value={language}
              lang={language}
              aria-pressed={language === frame.language ? 'true' : 'false'}
            >
              {languageNames[language]}
            </button>
          ))}
        </span>
      </fieldset>
      <fieldset>
        <legend>{text.theme}</legend>
        <span class="segment">
          {(['light', 'dark', 'auto'] as const).map((theme) => (
            <button name="theme" value={theme}>
              {text[theme]}
            </button>
          ))}
        </span>
      </fieldset>
    </form>
  );
}

function documentFooter(frame: PageFrame): Html {
  const text = frameText(frame);
  const items = linkItems(frame, footerLinks);
  return (
    <footer class="site-footer">
      <div class="wrap site-footer-row">
        <p class="site-tagline">
          <Logo frame={frame} />
          <span>
            <strong>{siteNameOf(frame)}</strong>{' '}
            {frame.siteName === undefined ? text.site.tagline : text.site.runsOn}
          </span>
        </p>
        {items.length > 0 && (
          <nav aria-label={text.site.footerNavigation}>
            <ul>{items}</ul>
          </nav>
        )}
        {appearanceForm(frame)}
      </div>
    </footer>
  );
}

/** Below one form or one message: the languages, whose service it is, help, and the way out for who is signed in. */
function bareFooter(frame: PageFrame, namesPerson = false): Html {
  const text = frameText(frame);
  const { docs } = frame.links;
  if (frame.isGuest) {
    return (
      <footer class="bare-foot">
        <span class="brand">
          <Logo frame={frame} />
          <span>{siteNameOf(frame)}</span>
        </span>
      </footer>
    );
  }
  return (
    <footer class="bare-foot">
      {frame.person && !namesPerson && (
        <div class="bare-person">
          <span>{text.person.signedInAs(frame.person.email)}</span>
          {signOutForm(frame, frame.person)}
        </div>
      )}
      {appearanceForm(frame)}
      {brand(frame)}
      {docs && <Link href={docs}>{text.links.help}</Link>}
    </footer>
  );
}

/** The whole document as text, to be sent as UTF-8. */
export function renderDocument(frame: PageFrame, options: DocumentOptions): string {
  const text = frameText(frame);
  const isBare = options.isBare || frame.isGuest;
  const page = (
    <html lang={frame.language}>
      {documentHead(frame, options)}
      <body
        class={
          classes(
            options.className,
            isBare && 'is-bare',
            frame.person?.prefersGlass && glassClass,
          ) || undefined
        }
      >
        {!isBare && (
          <a class="skip" href="#main">
            {text.site.skip}
          </a>
        )}
        {!isBare && documentHeader(frame, options)}
        <main id="main" tabindex={-1}>
          {options.body}
        </main>
        {isBare ? bareFooter(frame, options.namesPerson) : documentFooter(frame)}
      </body>
    </html>
  );
  return `<!doctype html>${renderHtml(page)}`;
}

/**
 * Renders the operator's logo, or an arch with its portcullis half down. `data/static/favicon.svg` is the same
 * drawing on a tile.
 */
export function Logo({ frame }: { readonly frame: PageFrame }): Html {
  if (frame.logo !== undefined) {
    return <img class="logo" src={frame.assets.url(frame.logo)} alt="" height="32" />;
  }
  return (
    <svg class="logo" viewBox="0 0 32 32" width="32" height="32" aria-hidden="true">
      <path
        class="logo-bars"
        fill="none"
        stroke="currentColor"
        stroke-width="2.4"
        d="M11.3 6v16.5M16 4v18.5M20.7 6v16.5M6 13h20M6 19h20"
      />
      <path
        class="logo-bars"
        fill="currentColor"
        d="M10.1 22h2.4l-1.2 4.4zM14.8 22h2.4L16 26.4zM19.5 22h2.4l-1.2 4.4z"
      />
      <path
        class="logo-arch"
        fill="currentColor"
        fill-rule="evenodd"
        d="M3 30V15a13 13 0 0 1 26 0v15h-4.5V15a8.5 8.5 0 0 0-17 0v15z"
      />
    </svg>
  );
}

// The frame of pages that stand beside the list of their area's sections: those of an account and of the console.

interface SectionPageOptions<Section extends string> {
  /** Names the list of sections for who hears the page. */
  readonly navigation: string;
  /** The list shows them in this order. */
  readonly paths: Readonly<Partial<Record<Section, string>>>;
  readonly names: Readonly<Record<Section, string>>;
  readonly icons?: Readonly<Partial<Record<Section, IconName>>> | undefined;
  /** Headings, each above the section that it is named by. */
  readonly groups?: Readonly<Partial<Record<Section, string>>> | undefined;
  /** Things that wait, shown beside a name, unless there are none. */
  readonly counts?: Readonly<Partial<Record<Section, number>>> | undefined;
  readonly section: Section;
  readonly title: string;
  readonly titleClass?: string | undefined;
  readonly lede: string;
  readonly className: string;
  readonly script?: string | undefined;
  /** Stands below the lede. */
  readonly body: Html;
}

export function sectionPage<Section extends string>(
  frame: PageFrame,
  options: SectionPageOptions<Section>,
): string {
  const { paths, names, section, title, script, body } = options;
  const counts: Partial<Record<Section, number>> | undefined = options.counts;
  return renderDocument(frame, {
    title,
    noindex: true,
    className: options.className,
    script,
    body: (
      <div class="wrap account">
        <nav class="account-nav" aria-label={options.navigation}>
          <ul>
            {(Object.keys(paths) as Section[]).map((name) => {
              const count = counts?.[name] ?? 0;
              const icon = options.icons?.[name];
              const group = options.groups?.[name];
              return (
                <li data-group={group}>
                  <Link href={paths[name]!} aria-current={name === section ? 'page' : undefined}>
                    {icon && <Icon name={icon} />}
                    {names[name]}
                    {count > 0 && (
                      <>
                        {' '}
                        <WaitingCount frame={frame} waiting={count} />
                      </>
                    )}
                  </Link>
                </li>
              );
            })}
          </ul>
        </nav>
        <div class="account-body">
          <header class="account-head">
            <h1 class={options.titleClass}>
              <MailAddress text={title} />
            </h1>
            <p class="lede">{options.lede}</p>
          </header>
          {body}
        </div>
      </div>
    ),
  });
}

// The page of a failure: says what happened and what to do, and never reveals the internals.

export type ErrorStatus = 400 | 403 | 404 | 405 | 408 | 413 | 415 | 429 | 500 | 503;

interface ErrorPageData {
  readonly status: ErrorStatus;
  /** Stands in place of the translations' words for the status. */
  readonly title?: string | undefined;
  readonly detail?: string | undefined;
  /** The page whose form it was. */
  readonly back?: string | undefined;
  /** The text that is no address: it stays in the boxes, to be corrected. */
  readonly typed?: string | undefined;
}

/**
 * Returns the end of a page about an error: the way home, and what a person quotes who asks the operator about
 * it.
 */
export function failureEnd(frame: PageFrame, status?: number): Html {
  const { error } = frameText(frame);
  return (
    <>
      <p>
        <LinkButton
          label={error.goHome}
          href={frame.links.home ?? '/'}
          kind="secondary"
          icon="back"
        />
      </p>
      <p class="field-hint">
        {status && `${error.status(status)} · `}
        {error.request} <code>{requestIdPlaceholder}</code>
      </p>
    </>
  );
}

/** Renders what every page about an error has: the gate, what is wrong, and the ways on as its children. */
export function FailureBody({
  title,
  detail,
  children,
}: {
  readonly title: string;
  readonly detail: string;
  readonly children: Html;
}): Html {
  return (
    <div class="wrap failure">
      <GateDrawing id="failure-gate" closed={1} className="failure-gate" />
      <div class="failure-text">
        <h1>{title}</h1>
        <p class="lede" role="alert">
          {detail}
        </p>
        {children}
      </div>
    </div>
  );
}

export function errorPage(frame: PageFrame, data: ErrorPageData): string {
  const text = frameText(frame);
  const { typed } = data;
  const title = data.title ?? (typed ? text.error.noAddress : text.error.titles[data.status]);
  const slip = typed ? slipOf(typed) : undefined;
  return renderDocument(frame, {
    title,
    noindex: true,
    className: 'page-error',
    lookedUp: typed,
    body: (
      <FailureBody
        title={title}
        detail={data.detail ?? (typed ? text.error.noAddressText : text.error.details[data.status])}
      >
        {slip && (
          <p class="field-error">
            <Icon name="alert" />
            <span>
              {text.error.tooLarge(slip.part)}{' '}
              <Link class="mono" href={`/ip/${slip.meant}`}>
                {slip.meant}
              </Link>
              {text.error.meantEnd}
            </span>
          </p>
        )}
        {data.status === 400 || data.status === 404 ? (
          <LookupForm
            id="failure-lookup"
            action={frame.lookupAction ?? '/ip'}
            text={text}
            value={typed}
          />
        ) : null}
        {typed && <p class="field-hint">{text.error.alsoWorks}</p>}
        {data.back && (
          <p>
            <LinkButton label={text.error.goBack} href={data.back} icon="back" />
          </p>
        )}
        {failureEnd(frame, data.status)}
      </FailureBody>
    ),
  });
}

/** Finds the number of an IPv4 address that ends beyond 255, and the address without its last digit. */
function slipOf(typed: string): { readonly part: string; readonly meant: string } | undefined {
  const parts = /^\s*(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})\s*$/.exec(typed)?.slice(1);
  const wrong = parts?.filter((part) => Number(part) > 255) ?? [];
  if (parts === undefined || wrong.length !== 1) return undefined;
  const meant = parts.map((part) => String(Number(part === wrong[0] ? part.slice(0, 2) : part)));
  return { part: wrong[0]!, meant: meant.join('.') };
}
