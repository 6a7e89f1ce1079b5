<?php

/** Answers with what the test laid out, and remembers what was asked. */

declare(strict_types=1);

namespace Portcullis\Tests;

use Portcullis\Http\Response;
use Portcullis\Http\Transport;

final class FakeTransport implements Transport
{
    /** @var list<array{method: string, url: string, headers: array<string, string>, form: array<string, mixed>}> */
    public array $asked = [];

    /** @param list<Response> $answers */
    public function __construct(private array $answers)
    {
    }

    /** @param array<string, string> $headers */
    public static function answer(int $status, mixed $body, array $headers = []): Response
    {
        $text = is_string($body) ? $body : json_encode($body, JSON_THROW_ON_ERROR);
        return new Response($status, array_change_key_case($headers), $text);
    }

    public function send(string $method, string $url, array $headers = [], ?string $body = null): Response
    {
        parse_str($body ?? '', $form);
        $this->asked[] = ['method' => $method, 'url' => $url, 'headers' => $headers, 'form' => $form];
        return array_shift($this->answers) ?? throw new \LogicException('one request too many');
    }
}
