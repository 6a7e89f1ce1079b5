<?php

/** The way out to the sign-on service and back. */

declare(strict_types=1);

use Portcullis\AuthorizationRequest;
use Portcullis\Exception\AuthorizationRefused;
use Portcullis\Exception\ConfigurationError;
use Portcullis\Exception\InvalidCallback;
use Portcullis\Exception\StateMismatch;
use Portcullis\Tests\Check;

return static function (): void {
    $new = static fn (): AuthorizationRequest => AuthorizationRequest::create(
        'https://sso.example/',
        'shop.example',
        'https://shop.example/cb?x=1&y=%C3%A9',
        ['openid', 'email', 'openid'],
        prompt: 'login',
        loginHint: 'ada@mail.example',
    );

    Check::that('the address carries everything, and the challenge instead of the verifier', static function () use ($new): void {
        $request = $new();
        $url = $request->url();
        Check::same('https://sso.example/authorize.php', strtok($url, '?'));
        parse_str((string) parse_url($url, PHP_URL_QUERY), $query);
        $digest = hash('sha256', $request->codeVerifier, true);
        Check::same([
            'response_type' => 'code',
            'client_id' => 'shop.example',
            'redirect_uri' => 'https://shop.example/cb?x=1&y=%C3%A9',
            'scope' => 'openid email',
            'state' => $request->state,
            'code_challenge' => rtrim(strtr(base64_encode($digest), '+/', '-_'), '='),
            'code_challenge_method' => 'S256',
            'prompt' => 'login',
            'login_hint' => 'ada@mail.example',
        ], $query);
        Check::same(false, str_contains($url, $request->codeVerifier));
        Check::same(false, str_contains($url, '+'), 'spaces are %20');
    });

    Check::that('state and verifier are long, and new each time', static function () use ($new): void {
        $a = $new();
        $b = $new();
        foreach ([$a->state, $a->codeVerifier] as $secret) {
            Check::same(1, preg_match('/^[A-Za-z0-9_-]{43}$/D', $secret));
        }
        Check::same(4, count(array_unique([$a->state, $b->state, $a->codeVerifier, $b->codeVerifier])));
    });

    Check::that('it survives the session', static function () use ($new): void {
        $request = $new();
        $stored = unserialize(serialize($request->toArray()), ['allowed_classes' => false]);
        $back = AuthorizationRequest::fromArray($stored);
        Check::same($request->toArray(), $back->toArray());
        Check::same('c0de', $back->verify(['state' => $request->state, 'iss' => 'https://sso.example', 'code' => 'c0de']));
    });

    Check::that('an entry that is missing or damaged is a state that does not match', static function () use ($new): void {
        $good = $new()->toArray();
        foreach ([null, '', [], 'x', ['state' => 's'], ['state' => ''] + $good, ['code_verifier' => 7] + $good] as $stored) {
            Check::throws(StateMismatch::class, static fn () => AuthorizationRequest::fromArray($stored));
        }
    });

    Check::that('another state is refused, before anything else is looked at', static function () use ($new): void {
        $request = $new();
        foreach ([null, '', 'x', ['x'], $request->state . 'x', substr($request->state, 1), 0, true] as $state) {
            $query = ['state' => $state, 'code' => 'c0de', 'error' => 'access_denied'];
            Check::throws(StateMismatch::class, static fn () => $request->verify($query));
        }
        Check::throws(StateMismatch::class, static fn () => $request->verify([]));
    });

    Check::that('an error is told as it came', static function () use ($new): void {
        $request = $new();
        $query = ['state' => $request->state, 'iss' => 'https://sso.example', 'error' => 'access_denied', 'error_description' => 'No.', 'code' => 'c'];
        $refused = Check::throws(AuthorizationRefused::class, static fn () => $request->verify($query));
        Check::same(['access_denied', 'No.'], [$refused->error, $refused->description]);
    });

    Check::that('an answer of another service is refused, its error too', static function () use ($new): void {
        $request = $new();
        $others = [
            null, '', 'https://other.example', 'https://sso.example.evil.example', 'http://sso.example',
            'https://sso.example:8443', 'https://sso.example/x', 'sso.example', ['https://sso.example'], true, 0,
        ];
        foreach ($others as $issuer) {
            foreach ([['code' => 'c0de'], ['error' => 'access_denied']] as $answer) {
                $query = ['state' => $request->state, 'iss' => $issuer] + $answer;
                Check::throws(InvalidCallback::class, static fn () => $request->verify($query));
            }
        }
        Check::throws(InvalidCallback::class, static fn () => $request->verify(['state' => $request->state, 'code' => 'c']));
    });

    Check::that('the service is the same however its address was typed', static function (): void {
        $ways = [
            'https://sso.example' => 'https://sso.example',
            'https://SSO.example:443/' => 'https://sso.example',
            'HTTPS://sso.example/' => 'https://sso.example',
            'http://localhost:8080' => 'http://localhost:8080',
            'http://[::1]:80' => 'http://[::1]',
        ];
        foreach ($ways as $typed => $issuer) {
            $request = AuthorizationRequest::create($typed, 'a.example', 'https://a.example/');
            Check::same('c', $request->verify(['state' => $request->state, 'iss' => $issuer, 'code' => 'c']));
        }
    });

    Check::that('neither code nor error', static function () use ($new): void {
        $request = $new();
        foreach ([null, '', ['x'], str_repeat('x', 513)] as $code) {
            $query = ['state' => $request->state, 'iss' => 'https://sso.example', 'code' => $code, 'error' => '<script>'];
            Check::throws(InvalidCallback::class, static fn () => $request->verify($query));
        }
    });

    Check::that('addresses that a code must not go to are refused', static function (): void {
        $addresses = [
            '', 'sso.example', 'http://sso.example', 'ftp://sso.example', 'https://', 'javascript:alert(1)',
            'https://u:p@sso.example', 'https://sso.example?x', 'https://sso.example#x',
            "https://sso.example/\r\nX: y", 'https://sso.example\@evil.example', 'http://localhost.evil.example',
            'https://sso.exämple',
        ];
        foreach ($addresses as $address) {
            Check::throws(ConfigurationError::class, static fn () => AuthorizationRequest::create($address, 'a.example', 'https://a.example/'));
        }
        foreach (['https://sso.example', 'http://localhost:8080/', 'http://127.0.0.1', 'http://[::1]:8080', 'https://a.example/sso/'] as $address) {
            AuthorizationRequest::create($address, 'a.example', 'https://a.example/');
        }
    });

    Check::that('unknown scopes are refused', static function (): void {
        foreach ([[], ['openid', 'admin'], ['']] as $scopes) {
            Check::throws(ConfigurationError::class, static fn () => AuthorizationRequest::create('https://sso.example', 'a.example', 'https://a.example/', $scopes));
        }
    });
};
