<?php

/**
 * Reads the notices that the service sends to the path which `/.well-known/portcullis.json` of a site names. Nothing
 * of a notice counts before its signature does, so strangers can send what they like. Needs the extension sodium.
 */

declare(strict_types=1);

namespace Portcullis;

use Portcullis\Exception\ConfigurationError;
use Portcullis\Exception\InvalidNotice;
use Portcullis\Exception\UnexpectedResponse;
use Portcullis\Http\Transport;
use Portcullis\Http\Transports;

final class Notices
{
    public const DOCUMENT_PATH = '/.well-known/portcullis.json';
    public const BODY_BYTES_MAX = 4096;
    /** A notice of before can't come again later than this, so ids may be forgotten then. */
    public const REMEMBER_SECONDS = 600;

    private const CLOCK_SECONDS_MAX = 300;
    private const KINDS = [
        'https://schemas.openid.net/secevent/caep/event-type/session-revoked' => Notice::SIGNED_OUT,
        'https://schemas.openid.net/secevent/risc/event-type/account-purged' => Notice::DELETED,
        'urn:portcullis:event:profile-changed' => Notice::CHANGED,
        'urn:portcullis:event:consent-withdrawn' => Notice::WITHDRAWN,
    ];

    private readonly BaseUrl $baseUrl;
    private readonly Transport $transport;

    /** @param string $clientId the domain of your site, as in an AuthorizationRequest */
    public function __construct(string $baseUrl, private readonly string $clientId, ?Transport $transport = null)
    {
        $this->baseUrl = BaseUrl::parse($baseUrl);
        $this->transport = $transport ?? Transports::default();
    }

    /**
     * The service's keys by their ids, for `read`. Keep them for an hour; fetch them anew for an unknown key, and then
     * no more than once a minute: anybody can name one.
     *
     * @return array<string, string>
     */
    public function fetchKeys(): array
    {
        $headers = ['Accept' => 'application/json', 'User-Agent' => 'portcullis-php/' . Version::TEXT];
        $response = $this->transport->send('GET', $this->baseUrl->with('/.well-known/jwks.json'), $headers);
        if ($response->status !== 200) {
            throw new UnexpectedResponse('The service gave no keys.', $response->status);
        }
        $keys = [];
        foreach (is_array($response->json()['keys'] ?? null) ? $response->json()['keys'] : [] as $key) {
            if (!is_array($key) || ($key['kty'] ?? null) !== 'OKP' || ($key['crv'] ?? null) !== 'Ed25519') {
                continue;
            }
            if (is_string($key['kid'] ?? null) && is_string($key['x'] ?? null)) {
                $keys[$key['kid']] = $key['x'];
            }
        }
        return $keys;
    }

    /**
     * @param string $body of the POST, as PHP reads it from php://input
     * @param array<array-key, mixed> $keys as `fetchKeys` gave them
     * @throws InvalidNotice with `isUnknownKey` where other keys may help
     */
    public function read(string $body, array $keys, ?int $now = null): Notice
    {
        if (!function_exists('sodium_crypto_sign_verify_detached')) {
            throw new ConfigurationError('Notices need the extension sodium.');
        }
        $parts = strlen($body) > self::BODY_BYTES_MAX ? [] : explode('.', $body);
        if (count($parts) !== 3) {
            throw new InvalidNotice('This is no notice.');
        }
        [$head, $claims] = [self::object($parts[0]), self::object($parts[1])];
        if (($head['alg'] ?? null) !== 'EdDSA' || ($head['typ'] ?? null) !== 'secevent+jwt') {
            throw new InvalidNotice('This is no notice.');
        }
        $issuer = $claims['iss'] ?? null;
        if (!is_string($issuer) || !$this->baseUrl->isIssuer($issuer) || ($claims['aud'] ?? null) !== $this->clientId) {
            throw new InvalidNotice('The notice is of another service, or for another site.');
        }
        $at = $claims['iat'] ?? null;
        if (!is_int($at) || abs(($now ?? time()) - $at) > self::CLOCK_SECONDS_MAX) {
            throw new InvalidNotice('The notice is too old, or a clock is wrong.');
        }
        $this->verify($parts, $head['kid'] ?? null, $keys);
        [$subject, $id, $events] = [$claims['sub'] ?? null, $claims['jti'] ?? null, $claims['events'] ?? null];
        if (!is_string($subject) || $subject === '' || !is_string($id) || $id === '' || !is_array($events)) {
            throw new InvalidNotice('The notice lacks something.');
        }
        $happenedAt = $claims['toe'] ?? null;
        $kind = self::KINDS[array_key_first($events) ?? ''] ?? Notice::OTHER;
        return new Notice($kind, $subject, $id, is_int($happenedAt) ? $happenedAt : $at);
    }

    /**
     * @param array<int, string> $parts
     * @param array<array-key, mixed> $keys
     */
    private function verify(array $parts, mixed $kid, array $keys): void
    {
        $known = is_string($kid) && is_string($keys[$kid] ?? null) ? self::bytes($keys[$kid]) : '';
        if (strlen($known) !== SODIUM_CRYPTO_SIGN_PUBLICKEYBYTES) {
            throw new InvalidNotice('The key of the notice is not known.', true);
        }
        $signature = self::bytes($parts[2]);
        $isSigned = strlen($signature) === SODIUM_CRYPTO_SIGN_BYTES
            && sodium_crypto_sign_verify_detached($signature, $parts[0] . '.' . $parts[1], $known);
        if (!$isSigned) {
            throw new InvalidNotice('The signature is wrong.');
        }
    }

    /** @return array<array-key, mixed> */
    private static function object(string $part): array
    {
        $value = json_decode(self::bytes($part), true, 8);
        return is_array($value) ? $value : [];
    }

    private static function bytes(string $part): string
    {
        return (string) base64_decode(strtr($part, '-_', '+/'), true);
    }
}
