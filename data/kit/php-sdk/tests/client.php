<?php

/** The exchange of a code for the profile. */

declare(strict_types=1);

use Portcullis\AuthorizationRequest;
use Portcullis\Client;
use Portcullis\Exception\ClientMismatch;
use Portcullis\Exception\InvalidGrant;
use Portcullis\Exception\InvalidRequest;
use Portcullis\Exception\QuotaExceeded;
use Portcullis\Exception\ServiceUnavailable;
use Portcullis\Exception\UnexpectedResponse;
use Portcullis\Http\Response;
use Portcullis\Profile;
use Portcullis\Tests\Check;
use Portcullis\Tests\FakeTransport;

return static function (): void {
    $request = AuthorizationRequest::create('https://sso.example', 'shop.example', 'https://shop.example/cb?a=b c');
    $exchange = static function (Response $answer) use ($request): Profile {
        return (new Client('https://sso.example', new FakeTransport([$answer])))->exchange('c0de', $request);
    };
    $good = ['X-SSO-Client' => 'shop.example'];

    Check::that('everything that proves the code is sent, in the body', static function () use ($request, $good): void {
        $transport = new FakeTransport([FakeTransport::answer(200, ['service_id' => 's'], $good)]);
        $profile = (new Client('https://sso.example/', $transport))->exchange('c0de', $request);
        Check::same('s', $profile->serviceId);
        Check::same(1, count($transport->asked));
        Check::same(['POST', 'https://sso.example/api.php'], [$transport->asked[0]['method'], $transport->asked[0]['url']]);
        Check::same([
            'code' => 'c0de',
            'client_id' => 'shop.example',
            'redirect_uri' => 'https://shop.example/cb?a=b c',
            'code_verifier' => $request->codeVerifier,
        ], $transport->asked[0]['form']);
    });

    Check::that('a profile for another site is thrown away', static function () use ($exchange): void {
        foreach ([[], ['X-SSO-Client' => 'evil.example'], ['X-SSO-Client' => '']] as $headers) {
            Check::throws(ClientMismatch::class, static fn () => $exchange(FakeTransport::answer(200, ['service_id' => 's'], $headers)));
        }
    });

    Check::that('each refusal has its exception', static function () use ($exchange): void {
        $grant = Check::throws(InvalidGrant::class, static fn () => $exchange(FakeTransport::answer(400, ['error' => 'invalid_grant', 'error_description' => 'Gone.'])));
        Check::same(['Gone.', 400], [$grant->getMessage(), $grant->status]);
        Check::throws(InvalidRequest::class, static fn () => $exchange(FakeTransport::answer(400, ['error' => 'invalid_request'])));
        $quota = Check::throws(QuotaExceeded::class, static fn () => $exchange(FakeTransport::answer(429, ['error' => 'x'], ['Retry-After' => '7'])));
        Check::same(7, $quota->retryAfterSeconds);
        Check::throws(ServiceUnavailable::class, static fn () => $exchange(FakeTransport::answer(503, ['error' => 'x'])));
    });

    Check::that('what no Portcullis sends is no profile', static function () use ($exchange, $good): void {
        $answers = [
            FakeTransport::answer(302, '', ['Location' => 'https://evil.example/']),
            FakeTransport::answer(400, ['error' => 'other']),
            FakeTransport::answer(400, '<html>'),
            FakeTransport::answer(500, ''),
            FakeTransport::answer(204, '', $good),
            FakeTransport::answer(200, '', $good),
            FakeTransport::answer(200, '"text"', $good),
            FakeTransport::answer(200, '[1]', $good),
            FakeTransport::answer(200, str_repeat('[', 100), $good),
        ];
        foreach ($answers as $answer) {
            Check::throws(UnexpectedResponse::class, static fn () => $exchange($answer));
        }
    });

    Check::that('fields may be absent, and of a wrong type count as absent', static function () use ($exchange, $good): void {
        $empty = $exchange(FakeTransport::answer(200, '{}', $good));
        Check::same([null, null, false, null, null], [$empty->serviceId, $empty->email, $empty->emailVerified, $empty->address, $empty->age]);
        $odd = $exchange(FakeTransport::answer(200, [
            'service_id' => 7, 'email' => ['x'], 'email_verified' => 'true', 'age' => '40', 'address' => 'x', 'nickname' => '',
        ], $good));
        Check::same([null, null, false, null, null, null], [$odd->serviceId, $odd->email, $odd->emailVerified, $odd->age, $odd->address, $odd->nickname]);
    });

    Check::that('every field of every scope has its place', static function () use ($exchange, $good): void {
        $sent = [
            'service_id' => 's', 'given_name' => 'Ada', 'family_name' => 'Lovelace', 'nickname' => 'Countess',
            'picture' => 'https://x.example/p', 'email' => 'a@b.example', 'email_verified' => true,
            'phone_number' => '+33612345678', 'phone_number_verified' => true,
            'address' => ['formatted' => "1 rue\nParis", 'locality' => 'Paris', 'country' => 'FR'],
            'birthdate' => '1990-12-10', 'age' => 35, 'age_verified' => true,
            'service_plus' => false, 'service_plan' => 'free', 'liquid_glass' => true,
        ];
        $p = $exchange(FakeTransport::answer(200, $sent, $good));
        Check::same($sent, $p->fields);
        Check::same(
            ['s', 'Ada', 'Lovelace', 'Countess', 'https://x.example/p', 'a@b.example', true, '+33612345678', true, '1990-12-10', 35, true, false, 'free', true],
            [$p->serviceId, $p->givenName, $p->familyName, $p->nickname, $p->picture, $p->email, $p->emailVerified, $p->phoneNumber, $p->phoneNumberVerified, $p->birthdate, $p->age, $p->ageVerified, $p->servicePlus, $p->servicePlan, $p->liquidGlass],
        );
        Check::same(["1 rue\nParis", null, 'Paris', 'FR'], [$p->address?->formatted, $p->address?->region, $p->address?->locality, $p->address?->country]);
    });
};
