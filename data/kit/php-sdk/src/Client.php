<?php

/**
 * Exchanges a code for the profile. Always names the site, the redirect address and the verifier,
 * so a code that was meant for another site, or stolen on the way, gives nothing.
 */

declare(strict_types=1);

namespace Portcullis;

use Portcullis\Exception\ClientMismatch;
use Portcullis\Exception\InvalidGrant;
use Portcullis\Exception\InvalidRequest;
use Portcullis\Exception\QuotaExceeded;
use Portcullis\Exception\ServiceUnavailable;
use Portcullis\Exception\UnexpectedResponse;
use Portcullis\Http\Response;
use Portcullis\Http\Transport;
use Portcullis\Http\Transports;

final class Client
{
    private readonly BaseUrl $baseUrl;
    private readonly Transport $transport;

    public function __construct(string $baseUrl, ?Transport $transport = null)
    {
        $this->baseUrl = BaseUrl::parse($baseUrl);
        $this->transport = $transport ?? Transports::default();
    }

    /** Once: a code is used up by the first call, so this never tries again by itself. */
    public function exchange(#[\SensitiveParameter] string $code, AuthorizationRequest $request): Profile
    {
        $form = http_build_query([
            'code' => $code,
            'client_id' => $request->clientId,
            'redirect_uri' => $request->redirectUri,
            'code_verifier' => $request->codeVerifier,
        ], '', '&', PHP_QUERY_RFC3986);
        $headers = [
            'Accept' => 'application/json',
            'Content-Type' => 'application/x-www-form-urlencoded',
            'User-Agent' => 'portcullis-php/' . Version::TEXT,
        ];
        $response = $this->transport->send('POST', $this->baseUrl->with('/api.php'), $headers, $form);
        if ($response->status !== 200) {
            self::refuse($response);
        }
        $meantFor = $response->header('X-SSO-Client');
        if ($meantFor === null || !hash_equals($request->clientId, $meantFor)) {
            throw new ClientMismatch('The code was meant for another site.');
        }
        return Profile::fromArray($response->json());
    }

    private static function refuse(Response $response): never
    {
        $status = $response->status;
        $body = in_array($status, [400, 429, 503], true) ? $response->json() : [];
        $error = $body['error'] ?? null;
        $detail = is_string($body['error_description'] ?? null) ? $body['error_description'] : '';
        throw match (true) {
            $status === 400 && $error === 'invalid_grant' => new InvalidGrant($detail, $status),
            $status === 400 && $error === 'invalid_request' => new InvalidRequest($detail, $status),
            $status === 429 => new QuotaExceeded($detail, $status, $response->number('Retry-After') ?? 60),
            $status === 503 => new ServiceUnavailable($detail, $status),
            default => new UnexpectedResponse('The sign-on service answered ' . $status . '.', $status),
        };
    }
}
