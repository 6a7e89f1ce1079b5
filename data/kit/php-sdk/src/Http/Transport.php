<?php

/** One request, one answer. Follows no redirects: a code or a key must not travel on. */

declare(strict_types=1);

namespace Portcullis\Http;

interface Transport
{
    /**
     * @param array<string, string> $headers
     * @param string|null $body sent as it is; null for none
     * @throws \Portcullis\Exception\TransportException when there is no answer
     */
    public function send(string $method, string $url, array $headers = [], ?string $body = null): Response;
}
