<?php

/** Redeeming receipts. */

declare(strict_types=1);

use Portcullis\Captcha;
use Portcullis\Exception\AuthenticationFailed;
use Portcullis\Exception\UnexpectedResponse;
use Portcullis\Tests\Check;
use Portcullis\Tests\FakeTransport;

return static function (): void {
    Check::that('a solved one tells where and when', static function (): void {
        $transport = new FakeTransport([FakeTransport::answer(200, [
            'ok' => true, 'hostname' => 'shop.example', 'origin' => 'https://shop.example', 'sitekey' => 'pcs_1',
            'challenge_ts' => '2026-11-21T09:30:00+00:00',
        ])]);
        $result = (new Captcha('https://ip.example', 'pcl_key', $transport))->verify('pcr1.x.y');
        Check::same([true, 'shop.example', 'https://shop.example', 'pcs_1', 1_795_253_400], [$result->ok, $result->hostname, $result->origin, $result->siteKey, $result->solvedAt?->getTimestamp()]);
        Check::same(['receipt' => 'pcr1.x.y'], $transport->asked[0]['form']);
        Check::same('https://ip.example/captcha/receipt', $transport->asked[0]['url']);
    });

    Check::that('the level is told, and the site key named', static function (): void {
        $transport = new FakeTransport([FakeTransport::answer(200, ['ok' => true, 'sitekey' => 'pcs_1', 'level' => 'silent'])]);
        $result = (new Captcha('https://ip.example', 'pcl_key', $transport))->verify('pcs2.x.y', 'pcs_1');
        Check::same([true, 'silent'], [$result->ok, $result->level]);
        Check::same(['receipt' => 'pcs2.x.y', 'sitekey' => 'pcs_1'], $transport->asked[0]['form']);
    });

    Check::that('a bad one is no error', static function (): void {
        $transport = new FakeTransport([FakeTransport::answer(200, '{"ok":false}')]);
        Check::same(false, (new Captcha('https://ip.example', 'pcl_key', $transport))->verify('x')->ok);
    });

    Check::that('what is wrong with a site key', static function (): void {
        $transport = new FakeTransport([
            FakeTransport::answer(200, '{"ok":false,"sitekey_error":"other_host"}'),
            FakeTransport::answer(200, '{"ok":false}'),
            FakeTransport::answer(200, '{}'),
        ]);
        $captcha = new Captcha('https://ip.example', 'pcl_key', $transport);
        Check::same('other_host', $captcha->siteKeyFault('pcs_1', 'shop.example'));
        Check::same(['receipt' => 'test', 'sitekey' => 'pcs_1', 'hostname' => 'shop.example'], $transport->asked[0]['form']);
        Check::same(null, $captcha->siteKeyFault('pcs_1', 'shop.example'));
        Check::throws(UnexpectedResponse::class, static fn () => $captcha->siteKeyFault('pcs_1', 'shop.example'));
    });

    Check::that('what is no receipt costs no request', static function (): void {
        $captcha = new Captcha('https://ip.example', 'pcl_key', new FakeTransport([]));
        foreach ([null, '', ['x'], 7, str_repeat('x', 2_049), "a\0b", "\xff", 'a b', "x\n", 'é'] as $receipt) {
            Check::same(false, $captcha->verify($receipt)->ok);
        }
    });

    Check::that('a wrong key and a strange answer are errors', static function (): void {
        $captcha = new Captcha('https://ip.example', 'pcl_key', new FakeTransport([
            FakeTransport::answer(401, '{"ok":false}'),
            FakeTransport::answer(200, '{"ok":"true"}'),
        ]));
        Check::throws(AuthenticationFailed::class, static fn () => $captcha->verify('x'));
        Check::throws(UnexpectedResponse::class, static fn () => $captcha->verify('x'));
    });
};
