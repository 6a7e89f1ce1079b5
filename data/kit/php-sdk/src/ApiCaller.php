<?php

/**
 * Requests with an API key. Waits when a quota is spent, as long as the service asks, but never
 * longer in all than allowed; then the caller hears of it. Each refusal becomes its exception.
 */

declare(strict_types=1);

namespace Portcullis;

use Portcullis\Exception\AuthenticationFailed;
use Portcullis\Exception\ConfigurationError;
use Portcullis\Exception\DuplicateReport;
use Portcullis\Exception\InvalidRequest;
use Portcullis\Exception\QuotaExceeded;
use Portcullis\Exception\ServiceUnavailable;
use Portcullis\Exception\UnexpectedResponse;
use Portcullis\Http\Response;
use Portcullis\Http\Transport;
use Portcullis\Http\Transports;

final class ApiCaller
{
    private const TRIES_MAX = 3;
    private const WAIT_SECONDS_DEFAULT = 60;

    private readonly BaseUrl $baseUrl;
    private readonly Transport $transport;
    /** @var \Closure(int): void */
    private readonly \Closure $sleep;
    /** @var \Closure(): int */
    private readonly \Closure $now;
    private ?Quota $quota = null;

    /**
     * @param int $waitSecondsMax how long one call may wait for a quota in all; 0: not at all
     * @param (callable(int): void)|null $sleep seconds
     * @param (callable(): int)|null $now Unix time in seconds
     */
    public function __construct(
        string $secureUrl,
        #[\SensitiveParameter] private readonly string $apiKey,
        ?Transport $transport = null,
        private readonly int $waitSecondsMax = 10,
        ?callable $sleep = null,
        ?callable $now = null,
    ) {
        $this->baseUrl = BaseUrl::parse($secureUrl);
        if (preg_match('/^[\x21-\x7e]{1,256}$/D', $apiKey) !== 1) {
            throw new ConfigurationError('The API key is empty or holds characters that no key has.');
        }
        $this->transport = $transport ?? Transports::default();
        $this->sleep = $sleep === null ? static function (int $seconds): void {
            sleep($seconds);
        } : \Closure::fromCallable($sleep);
        $this->now = \Closure::fromCallable($now ?? 'time');
    }

    /** Of the last answer that told; null before. */
    public function quota(): ?Quota
    {
        return $this->quota;
    }

    /**
     * @param array<string, string|null> $query
     * @param array<string, string|null>|null $form posted when there is one
     * @return array<string, mixed>
     */
    public function call(string $path, array $query = [], ?array $form = null): array
    {
        if ($form === null) {
            return $this->request($path, $query, null, null);
        }
        $given = array_filter($form, static fn (?string $value): bool => $value !== null);
        $body = http_build_query($given, '', '&', PHP_QUERY_RFC3986);
        return $this->request($path, $query, 'application/x-www-form-urlencoded', $body);
    }

    /**
     * Posts a body as it is.
     *
     * @return array<string, mixed>
     */
    public function post(string $path, string $contentType, string $body): array
    {
        return $this->request($path, [], $contentType, $body);
    }

    /**
     * @param array<string, string|null> $query
     * @return array<string, mixed>
     */
    private function request(string $path, array $query, ?string $contentType, ?string $body): array
    {
        $headers = [
            'Accept' => 'application/json',
            'Key' => $this->apiKey,
            'User-Agent' => 'portcullis-php/' . Version::TEXT,
        ];
        if ($contentType !== null) {
            $headers['Content-Type'] = $contentType;
        }
        $url = $this->baseUrl->with($path, $query);
        $method = $body === null ? 'GET' : 'POST';
        $leftSeconds = $this->waitSecondsMax;
        for ($try = 1; ; $try++) {
            $response = $this->transport->send($method, $url, $headers, $body);
            $this->quota = Quota::of($response) ?? $this->quota;
            if ($response->status === 200) {
                return $response->json();
            }
            $waitSeconds = $this->waitSeconds($response);
            if ($waitSeconds === null || $waitSeconds > $leftSeconds || $try === self::TRIES_MAX) {
                $this->refuse($response);
            }
            $leftSeconds -= $waitSeconds;
            ($this->sleep)($waitSeconds);
        }
    }

    /** Null when trying again would not help. */
    private function waitSeconds(Response $response): ?int
    {
        if ($response->status !== 429 && $response->status !== 503) {
            return null;
        }
        if (self::faultOf($response)['parameter'] !== null) {
            return null; // A duplicate is no matter of quotas.
        }
        $told = $response->number('Retry-After');
        $quota = Quota::of($response);
        if ($told === null && $quota !== null && $response->status === 429) {
            $told = $quota->resetAt - ($this->now)();
        }
        return $told === null ? null : max(1, $told);
    }

    private function refuse(Response $response): never
    {
        $status = $response->status;
        ['detail' => $detail, 'parameter' => $parameter] = self::faultOf($response);
        throw match (true) {
            $status === 401 => new AuthenticationFailed($detail, $status),
            $status === 429 && $parameter !== null => new DuplicateReport($detail, $status),
            $status === 429 => new QuotaExceeded(
                $detail,
                $status,
                $this->waitSeconds($response) ?? self::WAIT_SECONDS_DEFAULT,
            ),
            $status === 503 => new ServiceUnavailable($detail, $status),
            in_array($status, [400, 402, 413, 415, 422], true) => new InvalidRequest($detail, $status, $parameter),
            default => new UnexpectedResponse('The service answered ' . $status . '.', $status),
        };
    }

    /**
     * The first of `errors`; the receipt route refuses with `{"ok":false}` and has none.
     *
     * @return array{detail: string, parameter: string|null}
     */
    private static function faultOf(Response $response): array
    {
        $body = json_decode($response->body, true, 16);
        $fault = is_array($body) && is_array($body['errors'][0] ?? null) ? $body['errors'][0] : [];
        $source = is_array($fault['source'] ?? null) ? $fault['source'] : [];
        return [
            'detail' => is_string($fault['detail'] ?? null)
                ? $fault['detail']
                : 'The service answered ' . $response->status . '.',
            'parameter' => is_string($source['parameter'] ?? null) ? $source['parameter'] : null,
        ];
    }
}
