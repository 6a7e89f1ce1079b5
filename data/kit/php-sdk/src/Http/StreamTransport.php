<?php

/** Requests by PHP's own streams, for machines without ext-curl. */

declare(strict_types=1);

namespace Portcullis\Http;

use Portcullis\Exception\TransportException;

final class StreamTransport implements Transport
{
    private const READ_BYTES = 65_536;

    public function __construct(private readonly float $timeoutSeconds = 10.0)
    {
    }

    public function send(string $method, string $url, array $headers = [], ?string $body = null): Response
    {
        $lines = ['Connection: close'];
        foreach ($headers as $name => $value) {
            $lines[] = Transports::headerLine($name, $value);
        }
        $context = stream_context_create([
            'http' => [
                'method' => $method,
                'header' => $lines,
                'content' => $body ?? '',
                'timeout' => $this->timeoutSeconds,
                'follow_location' => 0,
                'max_redirects' => 1,
                'ignore_errors' => true,
                'protocol_version' => 1.1,
            ],
            'ssl' => [
                'verify_peer' => true,
                'verify_peer_name' => true,
                'allow_self_signed' => false,
                'disable_compression' => true,
            ],
        ]);
        $deadline = microtime(true) + $this->timeoutSeconds;
        $stream = @fopen($url, 'rb', false, $context);
        if ($stream === false) {
            throw new TransportException('No answer from the service: the connection failed.');
        }
        try {
            $text = $this->readAll($stream, $deadline);
            $received = stream_get_meta_data($stream)['wrapper_data'] ?? [];
        } finally {
            fclose($stream);
        }
        return self::response(is_array($received) ? $received : [], $text);
    }

    /** @param resource $stream */
    private function readAll($stream, float $deadline): string
    {
        $text = '';
        while (!feof($stream)) {
            $leftSeconds = $deadline - microtime(true);
            if ($leftSeconds <= 0) {
                throw new TransportException('No answer from the service: it took too long.');
            }
            $seconds = (int) $leftSeconds;
            stream_set_timeout($stream, $seconds, (int) (($leftSeconds - $seconds) * 1_000_000));
            $piece = fread($stream, self::READ_BYTES);
            if ($piece === false || stream_get_meta_data($stream)['timed_out']) {
                throw new TransportException('No answer from the service: it broke off.');
            }
            $text .= $piece;
            if (strlen($text) > Response::BODY_BYTES_MAX) {
                throw new TransportException('The answer is too long.');
            }
        }
        return $text;
    }

    /** @param array<int|string, mixed> $lines those of interim answers come first */
    private static function response(array $lines, string $text): Response
    {
        $status = 0;
        $headers = [];
        foreach ($lines as $line) {
            if (!is_string($line)) {
                continue;
            }
            if (preg_match('~^HTTP/\d(?:\.\d)? (\d{3})~', $line, $match) === 1) {
                $status = (int) $match[1];
                $headers = [];
            } else {
                $headers[] = $line;
            }
        }
        if ($status === 0) {
            throw new TransportException('No answer from the service: no status.');
        }
        $found = Response::headersOf($headers);
        $length = $found['content-length'] ?? null;
        // A connection that ends early looks like the end of the body.
        if ($length !== null && ctype_digit($length) && strlen($text) < (int) $length) {
            throw new TransportException('No answer from the service: it broke off.');
        }
        return new Response($status, $found, $text);
    }
}
