<?php

/**
 * The SDK's own tests, without a network: `php tests/run.php`. Exits with 1 when one fails.
 */

declare(strict_types=1);

require __DIR__ . '/../autoload.php';
require __DIR__ . '/Check.php';
require __DIR__ . '/FakeTransport.php';

foreach (['authorization', 'client', 'reputation', 'captcha', 'transport', 'notices'] as $name) {
    (require __DIR__ . '/' . $name . '.php')();
}

exit(Portcullis\Tests\Check::summary());
