/** The routes that the OpenAPI document leaves out, since they answer no JSON: by kind, each on purpose. */

/** By kind; a route that is neither here nor in the document fails the test. */
export const notJson: Readonly<Record<string, readonly RegExp[]>> = {
  'pages for people': [
    // The page for paths that nothing has, for who is signed in.
    /^GET \/\*$/,
    /^GET \/$/,
    /^GET \/ip(\/\*)?$/,
    /^(GET|POST) \/(removal|report)$/,
    /^GET \/captcha$/,
    /^GET \/outbox\/:name$/,
    /^POST \/looks$/,
    /^(GET|POST) \/captcha\/$/,
    /^(GET|POST) \/\.portcullis\/challenge$/,
    /^GET \/\.portcullis\/blocked$/,
    /^GET \/docs(\/|\/:page)?$/,
    /^GET \/feeds\/?$/,
    /^GET \/radar(\/(8|16)\/:\w+)?$/,
    // And the number that the page's own script asks for.
    /^(GET|POST) \/admin(\/[\w/:-]+)?$/,
    /^GET \/connect(\/seen(\/:target)?|\/key|\/:target)?$/,
    /^POST \/connect\/:target$/,
    /^(GET|POST) \/(signin|signout|register|verify|recover|reset|authorize\.php|account|goodbye)(\/|$)/,
  ],
  'text for firewalls, people and programs': [
    /^GET \/feeds\/(blocklist|anon-exits)\.(txt|csv|ipset|nft|haproxy|nginx|geo|rsc|zone6?|rpz)$/,
    /^GET \/feeds\/\*$/,
    // TAXII, which has a media type and a specification of its own.
    /^GET \/taxii2\/\*?$/,
    /^GET \/docs\/[\w-]+(\.fr)?\.md$/,
    /^GET \/(llms|robots)\.txt$/,
    /^GET \/\.well-known\/(security\.txt|change-password|passkey-endpoints|jwks\.json)$/,
    // What peers read: signed notes and lines.
    /^GET \/\.well-known\/portcullis-federation$/,
    /^GET \/federation\/(head|segments\/:seq|snapshot\/:seq)$/,
    /^GET \/(healthz|metrics)$/,
    // As any method: a proxy asks by that of its visitor.
    /^GET \/gate\/envoy\/\*$/,
  ],
  'files: styles, scripts, pictures, archives': [
    /^GET \/(static|avatars)\//,
    /^GET \/\.portcullis\/(img|audio|static)\//,
    /^GET \/(favicon\.ico|site\.webmanifest)$/,
    /^GET \/captcha\/(widget|api|work)\.js$/,
    /^GET \/kit(\/portcullis-sign-in)?\.zip$/,
    /^GET \/radar\/(map\.png|events)$/,
    /^GET \/admin\/audit\.(csv|jsonl)$/,
  ],
};
