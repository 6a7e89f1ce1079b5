<?php

/**
 * One visitor's way out to the sign-on service and back. Holds two secrets, `state` and the PKCE
 * verifier: keep it in the visitor's session, and take it out of there before it is looked at, so
 * that it serves once.
 */

declare(strict_types=1);

namespace Portcullis;

use Portcullis\Exception\AuthorizationRefused;
use Portcullis\Exception\ConfigurationError;
use Portcullis\Exception\InvalidCallback;
use Portcullis\Exception\StateMismatch;

final class AuthorizationRequest
{
    private const SCOPES = ['openid', 'profile', 'email', 'phone', 'address', 'age', 'subscription', 'preferences'];
    private const CODE_CHARS_MAX = 512;
    private const SECRET_BYTES = 32;

    /** @param list<string> $scopes */
    private function __construct(
        private readonly BaseUrl $baseUrl,
        public readonly string $clientId,
        public readonly string $redirectUri,
        public readonly array $scopes,
        public readonly string $state,
        public readonly string $codeVerifier,
        public readonly ?string $prompt,
        public readonly ?string $loginHint,
    ) {
    }

    /**
     * @param string $baseUrl the origin of the sign-on service, https and no path
     * @param string $clientId the domain of your site
     * @param string $redirectUri where the visitor comes back to: https, on that domain
     * @param list<string> $scopes ask for what you need and no more
     * @param string|null $prompt none, login, consent or "login consent"
     * @param string|null $loginHint fills in the sign-in form
     */
    public static function create(
        string $baseUrl,
        string $clientId,
        string $redirectUri,
        array $scopes = ['openid'],
        ?string $prompt = null,
        ?string $loginHint = null,
    ): self {
        if ($clientId === '' || $redirectUri === '') {
            throw new ConfigurationError('The client id and the redirect address are needed.');
        }
        $unknown = array_diff($scopes, self::SCOPES);
        if ($scopes === [] || $unknown !== []) {
            throw new ConfigurationError('Scopes must be some of: ' . implode(' ', self::SCOPES) . '.');
        }
        $secret = static fn (): string => self::base64Url(random_bytes(self::SECRET_BYTES));
        return new self(
            BaseUrl::parse($baseUrl),
            $clientId,
            $redirectUri,
            array_values(array_unique($scopes)),
            $secret(),
            $secret(),
            $prompt,
            $loginHint,
        );
    }

    /** Send the visitor's browser here. */
    public function url(): string
    {
        return $this->baseUrl->with('/authorize.php', [
            'response_type' => 'code',
            'client_id' => $this->clientId,
            'redirect_uri' => $this->redirectUri,
            'scope' => implode(' ', $this->scopes),
            'state' => $this->state,
            'code_challenge' => self::base64Url(hash('sha256', $this->codeVerifier, true)),
            'code_challenge_method' => 'S256',
            'prompt' => $this->prompt,
            'login_hint' => $this->loginHint,
        ]);
    }

    /**
     * The code, if the visitor came back from this very request.
     *
     * @param array<array-key, mixed> $query usually $_GET
     * @throws StateMismatch|AuthorizationRefused|InvalidCallback
     */
    public function verify(array $query): string
    {
        $state = $query['state'] ?? null;
        if (!is_string($state) || !hash_equals($this->state, $state)) {
            throw new StateMismatch('The state is not the one that was sent out.');
        }
        // An answer of another service than the one that was asked (RFC 9207).
        $issuer = $query['iss'] ?? null;
        if (!is_string($issuer) || !$this->baseUrl->isIssuer($issuer)) {
            throw new InvalidCallback('The answer is not of the service that was asked.');
        }
        $error = $query['error'] ?? null;
        if (is_string($error) && preg_match('/^[a-z_]{1,64}$/D', $error) === 1) {
            $description = $query['error_description'] ?? '';
            throw new AuthorizationRefused($error, is_string($description) ? substr($description, 0, 500) : '');
        }
        $code = $query['code'] ?? null;
        if (!is_string($code) || $code === '' || strlen($code) > self::CODE_CHARS_MAX) {
            throw new InvalidCallback('The visitor came back with neither a code nor an error.');
        }
        return $code;
    }

    /**
     * For the session: strings and lists of strings alone.
     *
     * @return array<string, mixed>
     */
    public function toArray(): array
    {
        return [
            'base_url' => $this->baseUrl->text(),
            'client_id' => $this->clientId,
            'redirect_uri' => $this->redirectUri,
            'scopes' => $this->scopes,
            'state' => $this->state,
            'code_verifier' => $this->codeVerifier,
        ];
    }

    /**
     * What `toArray` gave. What only the way out needs (prompt, hint) is not in it.
     *
     * @param mixed $stored an entry that is missing or damaged is a StateMismatch
     */
    public static function fromArray(mixed $stored): self
    {
        $text = static function (string $name) use ($stored): string {
            $value = is_array($stored) ? ($stored[$name] ?? null) : null;
            if (!is_string($value) || $value === '') {
                throw new StateMismatch('The session holds no request that was sent out.');
            }
            return $value;
        };
        $scopes = is_array($stored) && is_array($stored['scopes'] ?? null) ? $stored['scopes'] : [];
        return new self(
            BaseUrl::parse($text('base_url')),
            $text('client_id'),
            $text('redirect_uri'),
            array_values(array_filter($scopes, 'is_string')),
            $text('state'),
            $text('code_verifier'),
            null,
            null,
        );
    }

    private static function base64Url(string $bytes): string
    {
        return rtrim(strtr(base64_encode($bytes), '+/', '-_'), '=');
    }
}
