<?php

/** What both ways of sending requests refuse, as far as it needs no server. */

declare(strict_types=1);

use Portcullis\Exception\ConfigurationError;
use Portcullis\Exception\TransportException;
use Portcullis\Exception\UnexpectedResponse;
use Portcullis\Http\CurlTransport;
use Portcullis\Http\Response;
use Portcullis\Http\StreamTransport;
use Portcullis\Http\Transports;
use Portcullis\Tests\Check;

return static function (): void {
    $transports = [new StreamTransport(2.0)];
    if (function_exists('curl_init')) {
        $transports[] = new CurlTransport(2.0, 2.0);
        Check::that('curl is taken where it is', static function (): void {
            Check::same(CurlTransport::class, Transports::default()::class);
        });
    }

    foreach ($transports as $transport) {
        Check::that($transport::class . ': nobody there', static function () use ($transport): void {
            // Port 1 of this machine: nothing listens there.
            Check::throws(TransportException::class, static fn () => $transport->send('GET', 'http://127.0.0.1:1/'));
        });
        Check::that($transport::class . ': no header becomes two', static function () use ($transport): void {
            Check::throws(ConfigurationError::class, static fn () => $transport->send('GET', 'http://127.0.0.1:1/', ['Key' => "a\r\nHost: b"]));
            Check::throws(ConfigurationError::class, static fn () => $transport->send('GET', 'http://127.0.0.1:1/', ['A: b' => 'c']));
        });
    }

    Check::that('curl reads no files', static function (): void {
        if (!function_exists('curl_init')) {
            return;
        }
        Check::throws(TransportException::class, static fn () => (new CurlTransport(2.0))->send('GET', 'file:///etc/hostname'));
    });

    Check::that('headers are found in any case, numbers only when they are whole', static function (): void {
        $response = new Response(200, Response::headersOf(['X-A: 7', 'x-b:  seven ', 'no colon', 'X-C: -1']), '[]');
        Check::same(['7', 'seven', null], [$response->header('x-a'), $response->header('X-B'), $response->header('x-d')]);
        Check::same([7, null, null], [$response->number('X-A'), $response->number('X-B'), $response->number('X-C')]);
        Check::same([], $response->json());
        Check::throws(UnexpectedResponse::class, static fn () => (new Response(200, [], '[1]'))->json());
    });
};
