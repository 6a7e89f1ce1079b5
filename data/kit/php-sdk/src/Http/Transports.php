<?php

/** Chooses curl where it is installed, PHP's streams elsewhere. */

declare(strict_types=1);

namespace Portcullis\Http;

use Portcullis\Exception\ConfigurationError;

final class Transports
{
    /** @param float $timeoutSeconds for the whole request */
    public static function default(float $timeoutSeconds = 10.0): Transport
    {
        if (function_exists('curl_init')) {
            return new CurlTransport($timeoutSeconds);
        }
        if (filter_var(ini_get('allow_url_fopen'), FILTER_VALIDATE_BOOLEAN)) {
            return new StreamTransport($timeoutSeconds);
        }
        throw new ConfigurationError('Neither curl nor allow_url_fopen is there to send requests with.');
    }

    /** Refuses what would end a header line and begin another. */
    public static function headerLine(string $name, string $value): string
    {
        if (preg_match('/^[A-Za-z0-9-]+$/D', $name) !== 1 || preg_match('/[^\x20-\x7e]/', $value) === 1) {
            throw new ConfigurationError('A header holds characters that it must not hold.');
        }
        return $name . ': ' . $value;
    }
}
