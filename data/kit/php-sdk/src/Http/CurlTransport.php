<?php

/** Requests by ext-curl. Certificates are verified, whatever the ini file says. */

declare(strict_types=1);

namespace Portcullis\Http;

use Portcullis\Exception\TransportException;

final class CurlTransport implements Transport
{
    public function __construct(
        private readonly float $timeoutSeconds = 10.0,
        private readonly float $connectTimeoutSeconds = 5.0,
    ) {
    }

    public function send(string $method, string $url, array $headers = [], ?string $body = null): Response
    {
        $lines = [];
        foreach ($headers as $name => $value) {
            $lines[] = Transports::headerLine($name, $value);
        }
        // Without this line curl asks for permission before it sends a long body.
        $lines[] = 'Expect:';
        $received = [];
        $text = '';
        $handle = curl_init();
        $options = [
            CURLOPT_URL => $url,
            CURLOPT_CUSTOMREQUEST => $method,
            CURLOPT_HTTPHEADER => $lines,
            CURLOPT_FOLLOWLOCATION => false,
            CURLOPT_PROTOCOLS => CURLPROTO_HTTP | CURLPROTO_HTTPS,
            CURLOPT_SSL_VERIFYPEER => true,
            CURLOPT_SSL_VERIFYHOST => 2,
            CURLOPT_CONNECTTIMEOUT_MS => (int) round($this->connectTimeoutSeconds * 1000),
            CURLOPT_TIMEOUT_MS => (int) round($this->timeoutSeconds * 1000),
            CURLOPT_NOSIGNAL => true,
            CURLOPT_HEADERFUNCTION => static function ($_, string $line) use (&$received): int {
                // An interim answer (100, 103) comes before the one that counts.
                $received = str_starts_with($line, 'HTTP/') ? [] : [...$received, $line];
                return strlen($line);
            },
            CURLOPT_WRITEFUNCTION => static function ($_, string $piece) use (&$text): int {
                $text .= $piece;
                return strlen($text) > Response::BODY_BYTES_MAX ? 0 : strlen($piece);
            },
        ];
        if ($body !== null) {
            $options[CURLOPT_POSTFIELDS] = $body;
        }
        curl_setopt_array($handle, $options);
        if (curl_exec($handle) === false) {
            throw new TransportException('No answer from the service: ' . curl_error($handle));
        }
        $status = (int) curl_getinfo($handle, CURLINFO_RESPONSE_CODE);
        return new Response($status, Response::headersOf($received), $text);
    }
}
