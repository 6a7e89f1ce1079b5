<?php

/**
 * The address of a Portcullis. https only, since codes and keys go there; http is for a server on
 * the same machine.
 */

declare(strict_types=1);

namespace Portcullis;

use Portcullis\Exception\ConfigurationError;

final class BaseUrl
{
    private const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];

    private function __construct(private readonly string $text)
    {
    }

    public static function parse(string $text): self
    {
        $trimmed = rtrim(trim($text), '/');
        $parts = preg_match('/[^\x21-\x7e]|\\\\/', $trimmed) === 1 ? false : parse_url($trimmed);
        if ($parts === false || !isset($parts['scheme'], $parts['host'])) {
            throw new ConfigurationError('The address of the service is not a URL.');
        }
        if (isset($parts['user']) || isset($parts['pass']) || isset($parts['query']) || isset($parts['fragment'])) {
            throw new ConfigurationError('The address of the service holds more than a host and a path.');
        }
        $scheme = strtolower($parts['scheme']);
        $isLoopback = in_array(strtolower($parts['host']), self::LOOPBACK, true);
        if ($scheme !== 'https' && !($scheme === 'http' && $isLoopback)) {
            throw new ConfigurationError('The address of the service must begin with https://');
        }
        return new self($trimmed);
    }

    /** @param array<string, string|null> $query what is null is left out */
    public function with(string $path, array $query = []): string
    {
        $given = array_filter($query, static fn (?string $value): bool => $value !== null);
        $suffix = $given === [] ? '' : '?' . http_build_query($given, '', '&', PHP_QUERY_RFC3986);
        return $this->text . $path . $suffix;
    }

    /** Whether `iss` of an answer names this service (RFC 9207): `https://a.example:443/` is `https://a.example`. */
    public function isIssuer(string $issuer): bool
    {
        return $issuer !== '' && self::normal($issuer) === self::normal($this->text);
    }

    private static function normal(string $text): string
    {
        $plain = rtrim($text, '/');
        if (preg_match('~^(https?)://([^/:]+|\[[^\]/]*\])(:\d+)?(/.*)?$~Di', $plain, $parts) !== 1) {
            return '';
        }
        $scheme = strtolower($parts[1]);
        $port = ($parts[3] ?? '') === ($scheme === 'https' ? ':443' : ':80') ? '' : ($parts[3] ?? '');
        return $scheme . '://' . strtolower($parts[2]) . $port . ($parts[4] ?? '');
    }

    public function text(): string
    {
        return $this->text;
    }
}
