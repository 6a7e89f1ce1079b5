<?php

/** Notices of the service: what is taken, and what is not. */

declare(strict_types=1);

use Portcullis\Exception\InvalidNotice;
use Portcullis\Exception\UnexpectedResponse;
use Portcullis\Notice;
use Portcullis\Notices;
use Portcullis\Tests\Check;
use Portcullis\Tests\FakeTransport;

return static function (): void {
    $now = 1_790_000_000;
    $pair = sodium_crypto_sign_seed_keypair(str_repeat('k', 32));
    $base64 = static fn (string $bytes): string => rtrim(strtr(base64_encode($bytes), '+/', '-_'), '=');
    $keys = ['k1' => $base64(sodium_crypto_sign_publickey($pair))];
    $head = ['alg' => 'EdDSA', 'typ' => 'secevent+jwt', 'kid' => 'k1'];
    $claims = [
        'iss' => 'https://sso.example', 'aud' => 'shop.example', 'iat' => $now, 'jti' => 'n1', 'sub' => 'ada', 'toe' => $now - 9,
        'events' => ['https://schemas.openid.net/secevent/risc/event-type/account-purged' => new stdClass()],
    ];
    $sign = static function (array $head, array $claims) use ($pair, $base64): string {
        $text = $base64(json_encode($head, JSON_THROW_ON_ERROR)) . '.' . $base64(json_encode($claims, JSON_THROW_ON_ERROR));
        return $text . '.' . $base64(sodium_crypto_sign_detached($text, sodium_crypto_sign_secretkey($pair)));
    };
    $notices = new Notices('https://sso.example', 'shop.example', new FakeTransport([]));

    Check::that('a notice is read', static function () use ($notices, $sign, $head, $claims, $keys, $now): void {
        $notice = $notices->read($sign($head, $claims), $keys, $now + 300);
        Check::same([Notice::DELETED, 'ada', 'n1', $now - 9], [$notice->kind, $notice->serviceId, $notice->id, $notice->happenedAt]);
        $other = $notices->read($sign($head, ['events' => ['urn:x' => []]] + $claims), $keys, $now);
        Check::same(Notice::OTHER, $other->kind);
    });

    Check::that('what is not signed for this site, now, is refused', static function () use ($notices, $sign, $head, $claims, $keys, $now): void {
        $good = $sign($head, $claims);
        [$first, $second, $third] = explode('.', $good);
        $bad = [
            '', '..', 'a.b.c', "$first.$second.", "$first.$second", "$first." . substr($second, 0, -2) . ".$third", "$good.x",
            str_repeat('a', 5000) . ".$second.$third",
            $sign(['alg' => 'none'] + $head, $claims), $sign(['typ' => 'JWT'] + $head, $claims),
            $sign($head, ['aud' => 'evil.example'] + $claims), $sign($head, ['aud' => ['shop.example']] + $claims),
            $sign($head, ['iss' => 'https://evil.example'] + $claims),
            $sign($head, ['iat' => $now - 301] + $claims), $sign($head, ['iat' => $now + 301] + $claims), $sign($head, ['iat' => '1'] + $claims),
            $sign($head, ['sub' => 7] + $claims), $sign($head, ['jti' => ''] + $claims), $sign($head, ['events' => 'x'] + $claims),
        ];
        foreach ($bad as $body) {
            $thrown = Check::throws(InvalidNotice::class, static fn () => $notices->read($body, $keys, $now));
            Check::same(false, $thrown->isUnknownKey, $body);
        }
    });

    Check::that('an unknown key is told apart', static function () use ($notices, $sign, $head, $claims, $keys, $now): void {
        foreach ([[], ['k1' => 'short'], ['k1' => 7], ['k2' => $keys['k1']]] as $others) {
            $thrown = Check::throws(InvalidNotice::class, static fn () => $notices->read($sign($head, $claims), $others, $now));
            Check::same(true, $thrown->isUnknownKey);
        }
    });

    Check::that('keys are those of Ed25519 alone', static function () use ($keys): void {
        $sent = ['keys' => [['kty' => 'OKP', 'crv' => 'Ed25519', 'kid' => 'k1', 'x' => $keys['k1']], ['kty' => 'RSA', 'kid' => 'k2'], 7]];
        $transport = new FakeTransport([FakeTransport::answer(200, $sent), FakeTransport::answer(404, '')]);
        $service = new Notices('https://sso.example/', 'shop.example', $transport);
        Check::same($keys, $service->fetchKeys());
        Check::same('https://sso.example/.well-known/jwks.json', $transport->asked[0]['url']);
        Check::throws(UnexpectedResponse::class, static fn () => $service->fetchKeys());
    });
};
