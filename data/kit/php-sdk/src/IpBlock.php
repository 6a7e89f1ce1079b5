<?php

/** A network and its reported addresses, the worst first. */

declare(strict_types=1);

namespace Portcullis;

final class IpBlock
{
    /** @param list<array{ipAddress: string, numReports: int, mostRecentReport: string, abuseConfidenceScore: int, countryCode: string}> $reportedAddresses */
    private function __construct(
        public readonly string $networkAddress,
        public readonly string $netmask,
        public readonly string $minAddress,
        public readonly string $maxAddress,
        /** The name of a special-purpose range, `Internet` or `Mixed`. */
        public readonly string $addressSpaceDesc,
        public readonly array $reportedAddresses,
    ) {
    }

    /** @param array<string, mixed> $answer */
    public static function fromAnswer(array $answer): self
    {
        $data = Shape::part($answer, 'data');
        $texts = ['networkAddress', 'netmask', 'minAddress', 'maxAddress', 'addressSpaceDesc'];
        Shape::members($data, array_fill_keys($texts, 'string'));
        $addresses = Shape::rows($data, 'reportedAddress', [
            'ipAddress' => 'string',
            'numReports' => 'int',
            'mostRecentReport' => 'string',
            'abuseConfidenceScore' => 'int',
            'countryCode' => 'string',
        ]);
        return new self(...[...array_map(static fn (string $name): string => $data[$name], $texts), $addresses]);
    }
}
