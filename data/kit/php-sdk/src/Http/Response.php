<?php

/** What came back: a status, headers by lower-case name, and a bounded body. */

declare(strict_types=1);

namespace Portcullis\Http;

use Portcullis\Exception\UnexpectedResponse;

final class Response
{
    /** No answer of the service is longer: a check with all its reports is far below. */
    public const BODY_BYTES_MAX = 8 * 1024 * 1024;

    /** @param array<string, string> $headers */
    public function __construct(
        public readonly int $status,
        public readonly array $headers,
        public readonly string $body,
    ) {
    }

    public function header(string $name): ?string
    {
        return $this->headers[strtolower($name)] ?? null;
    }

    /** A header that is a whole number from 0 on; null when it is missing or anything else. */
    public function number(string $name): ?int
    {
        $text = $this->header($name);
        return $text !== null && preg_match('/^\d{1,12}$/D', $text) === 1 ? (int) $text : null;
    }

    /**
     * The body as an object.
     *
     * @return array<string, mixed>
     */
    public function json(): array
    {
        $value = json_decode($this->body, true, 32);
        if (!is_array($value) || ($value !== [] && array_is_list($value))) {
            throw new UnexpectedResponse('The answer is not a JSON object.', $this->status);
        }
        return $value;
    }

    /**
     * Header lines to names and values; of a name that comes twice, the last one.
     *
     * @param iterable<string> $lines
     * @return array<string, string>
     */
    public static function headersOf(iterable $lines): array
    {
        $headers = [];
        foreach ($lines as $line) {
            $parts = explode(':', $line, 2);
            if (count($parts) === 2) {
                $headers[strtolower(trim($parts[0]))] = trim($parts[1]);
            }
        }
        return $headers;
    }
}
