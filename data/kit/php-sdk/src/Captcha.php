<?php

/** Redeems the receipt that the CAPTCHA widget puts into a form. A receipt is good once. */

declare(strict_types=1);

namespace Portcullis;

use Portcullis\Exception\UnexpectedResponse;
use Portcullis\Http\Transport;

final class Captcha
{
    /** The field that the widget adds. */
    public const FIELD = 'portcullis-receipt';
    /**
     * What else was not made by the widget, and never leaves here: the service would call it an
     * error, and a visitor must not be able to make one. Receipts are much shorter.
     */
    private const RECEIPT = '/^[\x21-\x7e]{1,2048}$/D';

    private readonly ApiCaller $caller;

    /**
     * @param string $apiKey of the account that the site key belongs to
     * @param (callable(int): void)|null $sleep seconds; for tests
     */
    public function __construct(
        string $secureUrl,
        #[\SensitiveParameter] string $apiKey,
        ?Transport $transport = null,
        int $waitSecondsMax = 3,
        ?callable $sleep = null,
    ) {
        $this->caller = new ApiCaller($secureUrl, $apiKey, $transport, $waitSecondsMax, $sleep);
    }

    /**
     * Why pages on this host would get no receipts: `unknown` when the account has no such site key,
     * `other_host` when it is not for that host, null when nothing is wrong. Costs one read.
     */
    public function siteKeyFault(string $siteKey, string $hostname): ?string
    {
        $form = ['receipt' => 'test', 'sitekey' => $siteKey, 'hostname' => $hostname];
        $answer = $this->caller->call('/captcha/receipt', [], $form);
        if (!is_bool($answer['ok'] ?? null)) {
            throw new UnexpectedResponse('The answer is not that of a receipt.', 200);
        }
        $fault = $answer['sitekey_error'] ?? null;
        return is_string($fault) ? $fault : null;
    }

    /**
     * @param mixed $receipt what the form brought, such as $_POST[Captcha::FIELD] ?? null
     * @param ?string $siteKey of the page: name it if the account has site keys that ask for more than this one.
     *     Receipts of other site keys are not refused: compare `siteKey` of the result
     */
    public function verify(#[\SensitiveParameter] mixed $receipt, ?string $siteKey = null): CaptchaResult
    {
        if (!is_string($receipt) || preg_match(self::RECEIPT, $receipt) !== 1) {
            return CaptchaResult::unsolved();
        }
        $form = ['receipt' => $receipt] + ($siteKey === null ? [] : ['sitekey' => $siteKey]);
        $answer = $this->caller->call('/captcha/receipt', [], $form);
        if (!is_bool($answer['ok'] ?? null)) {
            throw new UnexpectedResponse('The answer is not that of a receipt.', 200);
        }
        return $answer['ok'] ? CaptchaResult::solved($answer) : CaptchaResult::unsolved();
    }
}
